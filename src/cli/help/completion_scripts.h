#pragma once
/// The parts of the completion scripts that do not depend on the subcommands.

#include <string_view>

namespace attune::cli {

// clang-format off
inline constexpr std::string_view kBashCode = R"bash(
_attune_values() {  # kind: fills COMPREPLY with what fits $cur
  case $1 in
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
    recording)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -X '!*.attune' -- "$cur") $(compgen -d -- "$cur")) ;;
    program) COMPREPLY=($(compgen -c -- "$cur")) ;;
    sensor)  # a list: only what follows the last comma is completed
      local before=
      [[ $cur == *,* ]] && before=${cur%,*},
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -P "$before" -W "none $("$attune" list sensors --names 2>/dev/null)" -- "${cur##*,}")) ;;
    sink)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -W "$("$attune" list sinks --names 2>/dev/null)" -- "$cur")) ;;
    session) COMPREPLY=($(compgen -W "$("$attune" list sessions --names 2>/dev/null)" -- "$cur")) ;;
    command) COMPREPLY=($(compgen -W "$_attune_commands" -- "$cur")) ;;
    words\ *) COMPREPLY=($(compgen -W "${1#words }" -- "$cur")) ;;
  esac
}

_attune_program() {  # index of the program's first word: from there on it is the program's own command line
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    COMPREPLY=($(compgen -c -- "$cur"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}

_attune() {
  local IFS=$' \t\n' attune=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} sub= expects= positionals=0 first= i word kind
  local prev=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ -z $sub ]]; then
      [[ $word != -* ]] && sub=$word
      continue
    fi
    [[ $word == '=' ]] && continue  # "--level=trace" comes as three words
    if [[ -n $expects ]]; then
      kind=$expects expects=
      while [[ ${COMP_WORDS[i + 1]-} == [:@=] ]]; do ((i += 2)); done  # so do "vmstat:sum@10ms", "influxdb=FILE"
      ((i < COMP_CWORD)) && continue
      [[ $cur == ':' ]] && cur= prev=:
      [[ $cur == '=' ]] && cur= prev='='
      [[ $kind == sink && $prev == '=' ]] && _attune_values file
      [[ $kind == sensor && $prev == ':' ]] && COMPREPLY=($(compgen -W sum -- "$cur"))
      return
    fi
    if [[ $word == -- ]]; then
      _attune_takes_program "$sub" && _attune_program $((i + 1))
      return
    fi
    if [[ $word == -* ]]; then
      expects=$(_attune_option_value "$sub $word")
    elif _attune_takes_program "$sub"; then
      _attune_program "$i"
      return
    else
      ((++positionals))
      first=${first:-$word}
    fi
  done
  if [[ -z $sub ]]; then
    COMPREPLY=($(compgen -W "$_attune_commands --help --version" -- "$cur"))
  elif [[ -n $expects ]]; then
    [[ $cur == '=' ]] && cur=
    _attune_values "$expects"
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_attune_options "$sub") --help" -- "$cur"))
  elif _attune_takes_program "$sub"; then
    _attune_program "$COMP_CWORD"
  else
    _attune_values "$(_attune_positional "$sub" "$positionals" "$first")"
  fi
}
complete -F _attune attune
)bash";

inline constexpr std::string_view kFishCode = R"fish(
# The subcommand on the command line, if there is one.
function __attune_subcommand
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word
            echo $word
            return 0
        end
    end
    return 1
end

function __attune_is
    contains -- (__attune_subcommand) $argv
end

# Whether the word before is one of these.
function __attune_behind
    contains -- (commandline -opc)[-1] $argv
end

# Prints the words of the observed program's own command line; fails while it has not begun.
function __attune_program_words
    set -l words (commandline -opc)
    set -l sub (__attune_subcommand); or return 1
    contains -- $sub $__attune_with_program; or return 1
    set -l first (math (contains -i -- $sub $words) + 1)
    test $first -le (count $words); or return 1
    set -l expects 0
    for i in (seq $first (count $words))
        set -l word $words[$i]
        if test $expects = 1
            set expects 0
        else if test "$word" = --
            test $i -lt (count $words); and printf '%s\n' $words[(math $i + 1)..-1]
            return 0
        else if string match -q -- '-*' $word
            contains -- "$sub $word" $__attune_with_value; and set expects 1
        else
            printf '%s\n' $words[$i..-1]
            return 0
        end
    end
    return 1
end

function __attune_in_program
    __attune_program_words >/dev/null
end

function __attune_complete_program
    set -l words (__attune_program_words | string escape)
    complete -C (string join ' ' -- $words (commandline -ct))
end

complete -c attune -f
complete -c attune -n 'not __attune_subcommand >/dev/null' -l version -d 'show the version'
complete -c attune -n 'not __attune_in_program' -l help -d 'show the usage'
complete -c attune -n __attune_in_program -a '(__attune_complete_program)'
)fish";
// clang-format on

}  // namespace attune::cli
