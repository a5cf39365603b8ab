# What perl does with memory: hashes that grow and shrink, patterns, sorts, formats, closures, weak references, strings that
# grow in place, exceptions, forked children, and threads, each of which copies the whole interpreter.
# Usage: perl interpreter.pl [TIMES]. The output depends on TIMES only.
use strict;
use warnings;
use Config;
use Digest::MD5 qw(md5_hex);
use POSIX ();
use Scalar::Util qw(weaken);

my $times = $ARGV[0] // 1;
$| = 1;

sub words {
  my ($seed, $count) = @_;
  my @words;
  for my $i (1 .. $count) {
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    push @words, join '', map { chr(97 + ($seed >> $_) % 26) } 3 .. 4 + $seed % 17;
  }
  return @words;
}

sub hashes {
  my ($seed) = @_;
  my (%count, %places);
  my @words = words($seed, 20_000);
  for my $i (0 .. $#words) {
    $count{$words[$i]}++;
    push @{$places{length $words[$i]}{substr $words[$i], 0, 2}}, $i;
  }
  delete @count{@words[0 .. 4_999]};
  $count{"$_$_"} = [$_] for @words[5_000 .. 5_999];
  my @sorted = sort { $a cmp $b } keys %count;
  my @numeric = sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } map { [length, $_] } @sorted;
  return md5_hex(join ',', @sorted, (map { "$_->[0]$_->[1]" } @numeric), map { scalar %{$places{$_}} } sort keys %places);
}

sub patterns {
  my ($seed) = @_;
  my $text = join ' ', words($seed, 8_000);
  my $found = 0;
  $found++ while $text =~ /\b(\w)\w*\1\b/g;
  (my $swapped = $text) =~ s/(\w+) (\w+)/$2 $1/g;
  (my $upper = $text) =~ s/([aeiou]+)/uc $1/ge;
  my @parts = split /[xyz]+/, $text;
  my $nested = qr/(\((?:[^()]++|(?1))*\))/;
  my $deep = '(' x 200 . 'a' . ')' x 200;
  return md5_hex(join '|', $found, $swapped, $upper, scalar @parts, $deep =~ $nested ? length $1 : 0, $text =~ tr/a-m//);
}

sub closures {
  my @made = map { my $n = $_; my @mine = (1 .. $n % 40); sub { $n += shift; $n + @mine } } 1 .. 5_000;
  my $sum = 0;
  $sum += $_->(3) for @made, reverse @made;
  my @cycles = map { my $node = {load => 'x' x ($_ % 300)}; $node->{self} = $node; weaken $node->{self}; $node } 1 .. 3_000;
  my $lost = grep { !defined $_->{self} } @cycles;
  my $caught = 0;
  for my $i (1 .. 2_000) {
    local $@;
    eval { my @held = ('held') x ($i % 50); die {code => $i, held => \@held} };
    $caught += $@->{code} + @{$@->{held}};
  }
  return "$sum $lost $caught";
}

sub texts {
  my $grown = '';
  my @lines;
  for my $i (1 .. 30_000) {
    $grown .= sprintf '%05d:%-8s|%+.3e;', $i, substr("name$i", 0, $i % 9), $i / 7;
    push @lines, unpack('H*', pack('NnCa*', $i, $i % 65_536, $i % 256, $i)) if $i % 50 == 0;
    substr($grown, 0, 1_000_000) = '' if length $grown > 2_000_000;
  }
  my $wide = join '', map { chr(0x100 + $_ % 0x3000) } 1 .. 20_000;
  open my $memory, '>', \my $file or die "memory file: $!";
  printf $memory "%s\n", $_ for @lines;
  close $memory;
  return md5_hex($grown) . ' ' . md5_hex($file) . ' ' . length($wide) . ' ' . scalar reverse(substr $grown, -20);
}

sub children {
  my ($count) = @_;
  my @told;
  for my $child (1 .. $count) {
    pipe my $from, my $to or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
      close $from;
      print {$to} hashes($child);
      close $to;
      POSIX::_exit($child % 100);
    }
    close $to;
    push @told, [$pid, $from];
  }
  return join ' ', map { my ($pid, $from) = @$_; my $text = do { local $/; <$from> }; waitpid $pid, 0; $text . ':' . ($? >> 8) } @told;
}

sub in_threads {
  return 'no threads' unless $Config{useithreads};
  require threads;
  my @running = map { my $seed = $_; threads->create(sub { patterns($seed) . closures() }) } 1 .. 4;
  return join ' ', map { $_->join } @running;
}

for my $round (1 .. $times) {
  print "hashes ", hashes($round), "\npatterns ", patterns($round), "\nclosures ", closures(), "\ntexts ", texts(),
    "\nchildren ", children(6), "\nthreads ", in_threads(), "\n";
}
