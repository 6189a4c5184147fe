# SPDX-License-Identifier: GPL-2.0
#
# What prove says of our tests (prove --formatter Counting): each failed or skipped test
# as soon as it ends, with the program's name and what explains it, a line for each
# program, and last "N passed, N failed", with ", N skipped" if any were. prove's own
# formatters keep all that a program says until it ends, and count no failures.
use strict;
use warnings;

package Counting;
use parent 'TAP::Formatter::File';

# counts(PARSER...): passed, failed, skipped. A program that dies, tests nothing, or not
# what it planned, has failed as well.
sub counts {
    my ($passed, $failed, $skipped) = (0, 0, 0);
    for my $parser (@_) {
        $passed  += $parser->passed - $parser->skipped;
        $skipped += $parser->skipped;
        $failed  += $parser->failed || ($parser->has_problems ? 1 : 0);
    }
    return ($passed, $failed, $skipped);
}

sub open_test {
    my ($self, $name, $parser) = @_;
    $self->stdout->autoflush(1);
    return Counting::Program->new({ name => $name, formatter => $self, parser => $parser });
}

sub summary {
    my ($self, $aggregate) = @_;
    my ($passed, $failed, $skipped) = counts($aggregate->parsers);
    $self->_output("$passed passed, $failed failed" . ($skipped ? ", $skipped skipped" : '') . "\n");
}

package Counting::Program;
use parent -norequire, 'TAP::Formatter::File::Session';
use parent 'TAP::Formatter::File::Session';

sub show {
    my ($self, @lines) = @_;
    $self->formatter->_output($self->name . ": $_\n") for @lines;
}

# What explains a failure comes before it or behind it, depending on who prints it: shown
# is all that is said between the test that passed before it and the one behind it.
sub result {
    my ($self, $result) = @_;
    if ($result->is_test) {
        my $failed = !$result->is_ok;
        $self->show($failed ? @{ $self->{before} // [] } : ()) if $failed;
        $self->show($result->as_string) if $failed || $result->has_skip;
        $self->{before} = [];
        $self->{explains} = $failed;
    } elsif ($result->is_comment || $result->is_unknown) {
        if ($self->{explains}) {
            $self->show($result->as_string);
        } else {
            push @{ $self->{before} }, $result->as_string;
        }
    }
}

sub close_test {
    my $self = shift;
    my $parser = $self->parser;
    my ($passed, $failed, $skipped) = Counting::counts($parser);
    if ($failed && !$parser->failed) {
        $self->show(@{ $self->{before} // [] });
        my $signal = $parser->wait & 127;
        my $end = $signal ? "signal $signal" : 'status ' . $parser->exit;
        $self->show("not ok - ended with $end after $passed tests", map { "# $_" } $parser->parse_errors);
    }
    $self->show(sprintf '%d passed, %d failed, %d skipped, %.0f s', $passed, $failed, $skipped,
        $parser->end_time - $parser->start_time);
    $self->parser(undef);
}

1;
