// What a line of a log shows: its last state, its level, its colours. Text only: nothing in a log is ever markup.

const LONGEST_SHOWN = 4_000;
const SEARCHED = 4_096; // characters from a line's beginning, as portal/job_files/logs/log_search.py does
const ERROR = /\b(ERROR|FATAL|CRITICAL|Traceback|[A-Z]\w{0,60}(Error|Exception):)|\berror:/;
const WARNING = /\bWARN(ING)?\b|\bwarning:|\b[A-Z]\w{0,60}Warning:/;
const COLOURS = ["", "red", "green", "yellow", "blue", "magenta", "cyan", ""];
const decoder = new TextDecoder("utf-8");

// Colours become classes; every other escape sequence and control character is dropped.
const ESCAPES = /\x1b\[([0-9;]*)m|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x08\x0b-\x1f\x7f]/g;

function style(codes, current) {
  const next = new Set(current);
  for (const text of codes.split(";")) {
    const code = Number(text);
    if (code === 0) next.clear();
    else if (code === 1) next.add("a-bold");
    else if (code === 2) next.add("a-faint");
    else if (code === 22) ["a-bold", "a-faint"].forEach((name) => next.delete(name));
    else if ((code >= 30 && code <= 39) || (code >= 90 && code <= 97)) {
      COLOURS.forEach((name) => next.delete(`a-${name}`));
      const name = COLOURS[code % 10];
      if (name) next.add(`a-${name}`);
    }
  }
  return next;
}

// Puts the text into the element, coloured parts as spans.
export function write(text, place) {
  let from = 0;
  let classes = new Set();
  const put = (part) => {
    if (!part) return;
    if (!classes.size) return place.append(part);
    const span = document.createElement("span");
    span.className = [...classes].join(" ");
    span.textContent = part;
    place.append(span);
  };
  for (const match of text.matchAll(ESCAPES)) {
    put(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[1] !== undefined) classes = style(match[1], classes);
  }
  put(text.slice(from));
}

// A progress bar overwrites its line with \r: the last state is what a terminal would show.
function lastState(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\r") end -= 1;
  return text.slice(text.lastIndexOf("\r", end - 1) + 1, end);
}

// "error", "warning" or nothing, by words that programs use.
export function level(text) {
  const begin = text.slice(0, SEARCHED);
  return ERROR.test(begin) ? "error" : WARNING.test(begin) ? "warning" : "";
}

// The text of a line's bytes, cut where it is longer than anybody reads.
export function shown(bytes, wordsCut) {
  const whole = lastState(decoder.decode(bytes));
  return whole.length > LONGEST_SHOWN ? `${whole.slice(0, LONGEST_SHOWN)} … ${wordsCut}` : whole;
}
