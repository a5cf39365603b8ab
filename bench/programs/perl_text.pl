# Hashes of arrays filled from generated text, sorted, joined and torn apart again; a tree of closures.
# Usage: perl_text.pl [WORDS]      default: 100000
# The same numbers in every run: its own generator, PERL_HASH_SEED=0, and no hash is read unsorted.
use strict;
use warnings;

my $count = shift // 100_000;
my $state = 12345;

sub next_number { return $state = ($state * 1103515245 + 12345) % 2147483648 }

# An index from words to the lines they stand in, entries of which go away while others come.
my @names = qw(ash lar stone block wall);
my (%lines_of, %length_of);
for my $line (1 .. $count) {
  my $word = join '-', map { $names[next_number() / 65536 % @names] . next_number() % 89 } 1 .. 2;
  push @{ $lines_of{$word} }, $line;
  $length_of{$word} = { word => $word, length => length $word, first => $length_of{$word}{first} // $line };
  delete $lines_of{$word} if @{ $lines_of{$word} } > 9;
}

# Text made of it, changed by patterns, split again.
my $text = join "\n", map { "$_: " . join ',', @{ $lines_of{$_} } } sort keys %lines_of;
$text =~ s/(\w+)-(\w+)/$2 of $1/g;
my @records = map { my ($name, $rest) = split /: /; { name => $name, lines => [split /,/, $rest] } } split /\n/, $text;
@records = sort { @{ $a->{lines} } <=> @{ $b->{lines} } || $a->{name} cmp $b->{name} } @records;

# Closures in a balanced tree: each knows its two children.
sub tree {
  my ($from, $to) = @_;
  return sub { 0 } if $from >= $to;
  my $middle = int(($from + $to) / 2);
  my ($left, $right) = (tree($from, $middle), tree($middle + 1, $to));
  my $record = $records[$middle];
  return sub {
    my ($limit) = @_;
    return $left->($limit) + $right->($limit) + grep { $_ < $limit } @{ $record->{lines} };
  };
}
my $below = tree(0, scalar @records);

my @firsts = map { $length_of{$_}{first} * $length_of{$_}{length} } sort keys %length_of;
my $sum = 0;
$sum = ($sum * 31 + $_) % 1000000007 for @firsts;
printf "%d %d %d %d %d %d %d\n", $count, scalar(@records), length $text, unpack('%32C*', $text), $below->($count / 2),
  $below->($count + 1), $sum;
