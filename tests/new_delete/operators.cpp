// The one source of the program that has the operators.
#include <ashlar/adapt/new_delete.hpp>
