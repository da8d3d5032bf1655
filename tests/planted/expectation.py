"""The expectation of a planted program, read from its own source: fields in the comment at its head, markers at its lines.

A head (with `#` in Python):

    // Accounts are updated while one lock for all of them is held.
    // planted: class=lock-contention function=apply_interest options=-O0

A marker is at the end of the line that a finding shall name, `// <- cause`; several lines are between `// <- cause: begin` and
`// <- cause: end`. Several markers, and `a|b` in a field, are alternatives.
"""

import dataclasses
import os
import re
import shlex

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("programs", "harmless")
LANGUAGES = {".c": "C", ".cpp": "C++", ".py": "Python"}
HARMLESS = "none"
# The class of what a program only computes is no finding but a verdict, where the report has one.
VERDICT = "compute-bound"
# Findings about what other programs do.
OF_OTHERS = frozenset({"other-programs"})
# Time in these is a wait at a call, which is measured exactly: 2 %.
WAITS = frozenset("""
    lock-contention lock-convoy load-imbalance wait-at-barrier serialisation condition-wait late-sender late-receiver
    wait-at-collective slow-peer timeout-wait polling-delay initialisation-wait sequential-futures deadlock child-wait
""".split())
# No place in the code causes these.
WITHOUT_PLACE = frozenset({"oversubscription", "narrow-affinity", "throttling"})
TOLERANCE_OF_WAITS = 2.0
TOLERANCE = 5.0
FIELDS = frozenset("""
    class function processes tolerance options compilers libraries ranks arguments environment beside exit needs
""".split())


class HeadError(Exception):
    """A head that does not say what it must."""


@dataclasses.dataclass(frozen=True)
class Expectation:
    name: str
    source: str
    language: str
    what: str
    classes: tuple = ()  # alternatives; (): harmless
    functions: tuple = ()  # alternatives; parts of the names as they are in the code
    lines: frozenset = frozenset()
    processes: int = 1
    tolerance: float | None = TOLERANCE  # per cent; None: what is lost cannot be known exactly
    options: tuple = ()
    compilers: tuple = ()
    libraries: tuple = ()
    ranks: int = 0
    arguments: tuple = ()
    environment: tuple = ()  # NAME=VALUE
    beside: str = ""
    exit: int = 0
    needs: str = ""  # a header that the compiler must find

    @property
    def is_harmless(self):
        return not self.classes


def head_of(text, mark):
    """The lines of the comment that a source begins with, without the mark of comments."""
    for line in text.splitlines():
        if line.startswith("#!"):
            continue
        if not line.startswith(mark):
            return
        yield line[len(mark):].strip()


def marked_lines(text, mark):
    """Numbers of the lines with a marker, and of those between a begin and an end."""
    lines, begin = set(), None
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(re.escape(mark) + r" <- cause(: begin|: end)?$", line)
        if not match:
            continue
        if match.group(1) == ": begin":
            begin = number
        elif match.group(1) == ": end":
            if begin is None:
                raise HeadError(f"line {number}: an end without a begin")
            lines.update(range(begin, number + 1))
            begin = None
        else:
            lines.add(number)
    if begin is not None:
        raise HeadError(f"line {begin}: a begin without an end")
    return frozenset(lines)


def fields_of(head):
    """The sentence, and the fields by name."""
    fields, sentence = {}, []
    for line in head:
        if not line.startswith("planted:"):
            if fields:
                raise HeadError("the fields come last")
            sentence.append(line)
            continue
        for word in shlex.split(line.removeprefix("planted:")):
            name, equals, value = word.partition("=")
            if not equals or name not in FIELDS:
                raise HeadError(f"there is no field '{word}'")
            if name in fields:
                raise HeadError(f"'{name}' stands twice")
            fields[name] = value
    if "class" not in fields:
        raise HeadError("the comment at the head has no class=")
    return " ".join(sentence), fields


def tolerance_of(fields, classes):
    given = fields.get("tolerance")
    if given is not None:
        return None if given == "none" else float(given)
    return TOLERANCE_OF_WAITS if set(classes) <= WAITS else TOLERANCE


def parse(source, text):
    """@return the Expectation of a source; raises HeadError"""
    name, ending = os.path.splitext(os.path.basename(source))
    mark = "#" if ending == ".py" else "//"
    what, fields = fields_of(head_of(text, mark))
    classes = () if fields["class"] == HARMLESS else tuple(fields["class"].split("|"))
    lines = marked_lines(text, mark)
    functions = tuple(fields["function"].split("|")) if fields.get("function") else ()
    if not what:
        raise HeadError("the comment at the head does not say what is planted")
    if not classes and (lines or functions):
        raise HeadError("what is harmless has no cause")
    if classes and bool(lines) == bool(set(classes) <= WITHOUT_PLACE):
        raise HeadError("a cause has a marked line, unless its class has no place")

    def words(field, separator=","):
        return tuple(fields[field].split(separator)) if fields.get(field) else ()

    return Expectation(name=name, source=source, language=LANGUAGES[ending], what=what, classes=classes, functions=functions, lines=lines,
                       processes=int(fields.get("processes", 1)), tolerance=tolerance_of(fields, classes), options=words("options"),
                       compilers=words("compilers"), libraries=words("libraries"), ranks=int(fields.get("ranks", 0)),
                       arguments=words("arguments"), environment=words("environment"), beside=fields.get("beside", ""),
                       exit=int(fields.get("exit", 0)), needs=fields.get("needs", ""))


def read_all(folder=HERE):
    """The expectations of all programs, the planted ones first. Raises HeadError that names the file."""
    found = []
    for part in FOLDERS:
        for file in sorted(os.listdir(os.path.join(folder, part))):
            source = os.path.join(folder, part, file)
            if os.path.splitext(file)[1] not in LANGUAGES:
                continue
            with open(source, encoding="utf-8") as f:
                try:
                    expectation = parse(source, f.read())
                except (HeadError, ValueError) as error:
                    raise HeadError(f"{part}/{file}: {error}") from error
            if expectation.is_harmless != (part == "harmless"):
                raise HeadError(f"{part}/{file}: harmless programs, and only they, are in harmless/")
            found.append(expectation)
    return found


@dataclasses.dataclass
class Verdict:
    """Of one run: each check that applied, and in words what differed. None: the check did not apply."""
    class_ok: bool | None = None
    place_ok: bool | None = None
    time_ok: bool | None = None
    found: str = "-"
    found_s: float | None = None
    true_s: float | None = None
    complaint: str = ""

    @property
    def ok(self):
        return not self.complaint

    @property
    def error_percent(self):
        return None if not self.true_s or self.found_s is None else 100 * (self.found_s / self.true_s - 1)


def own_findings(report):
    """Findings that are about the program itself, best first; the verdict where there is none."""
    own = [finding for finding in report["findings"] if finding["class"] not in OF_OTHERS]
    verdict = report.get("verdict")
    return own or ([verdict] if verdict and verdict.get("class") else [])


def place_text(site):
    if not site:
        return "no place"
    return f"{site.get('function') or site.get('name') or '?'} ({os.path.basename(site.get('file') or '?')}:{site.get('line')})"


def is_place(expectation, site):
    if not expectation.lines:
        return True
    if not site or os.path.basename(site.get("file") or "") != os.path.basename(expectation.source) or site.get("line") not in expectation.lines:
        return False
    return not expectation.functions or any(name in (site.get("function") or "") for name in expectation.functions)


def is_time(expectation, found_s, true_s):
    return abs(found_s - true_s) <= max(expectation.tolerance / 100 * true_s, 1e-3)


def compare(expectation, report, true_s):
    """What a report says against what is planted. @param true_s as the program measured it; None: it did not"""
    own = own_findings(report)
    verdict = Verdict()
    if expectation.is_harmless:
        claimed = [finding for finding in own if finding["class"] != VERDICT]
        verdict.class_ok = not claimed
        if claimed:
            verdict.found, verdict.found_s = claimed[0]["class"], claimed[0].get("seconds")
            verdict.complaint = f"claimed: {claimed[0]['class']} at {place_text(claimed[0].get('site'))}"
        return verdict
    verdict.true_s = true_s
    if not own:
        verdict.class_ok, verdict.complaint = False, "nothing found"
        return verdict
    first = own[0]
    verdict.found, verdict.found_s = first["class"], first.get("seconds")
    verdict.class_ok = first["class"] in expectation.classes
    if not verdict.class_ok:
        verdict.complaint = f"found {first['class']} at {place_text(first.get('site'))}"
        return verdict
    if expectation.lines:
        verdict.place_ok = is_place(expectation, first.get("site"))
        if not verdict.place_ok:
            verdict.complaint = f"place {place_text(first.get('site'))}"
            return verdict
    if report.get("totals", {}).get("processes", expectation.processes) < expectation.processes:
        verdict.complaint = f"{report['totals']['processes']} processes seen, not {expectation.processes}"
        return verdict
    if expectation.tolerance is not None and verdict.found_s is not None:
        if true_s is None:
            verdict.time_ok, verdict.complaint = False, "the program did not say what it lost"
        else:
            verdict.time_ok = is_time(expectation, verdict.found_s, true_s)
            if not verdict.time_ok:
                verdict.complaint = f"time {verdict.found_s:.4f} s, true {true_s:.4f} s"
    return verdict


def truth_of(text):
    """Seconds that all processes of a program lost by their own account; None: nothing was written."""
    lost = [int(line.split()[1]) for line in text.splitlines() if line.startswith("lost_ns ")]
    return sum(lost) * 1e-9 if lost else None
