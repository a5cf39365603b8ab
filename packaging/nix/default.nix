# The library of this checkout for Nix: nix-build packaging/nix. Not tested: see ../README.md.
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "ashlar";
  version = "0.1.0";
  src = pkgs.lib.cleanSourceWith {
    src = pkgs.lib.cleanSource ../..;
    filter = path: type: !(type == "directory" && baseNameOf path == "build");
  };
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja pkgs.python3 ];
  cmakeFlags = map (part: "-DASHLAR_BUILD_${part}=OFF") [ "TOOLS" "TESTS" "EXAMPLES" "BENCH" ];
  meta = {
    description = "Fixed-block memory management for C and C++";
    license = pkgs.lib.licenses.mit;
    platforms = pkgs.lib.platforms.linux;
  };
}
