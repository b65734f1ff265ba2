// Lines that say the same with other numbers: of a run of them the first ones and the last one stay, the rest is folded.

const SHOWN_OF_A_RUN = 2;
const LEAST_FOLDED = 3; // fewer are not worth a fold
const SHAPE_LENGTH = 160;
const NUMBERS = /[-+]?\d[\d.,:eE%+-]*|[#=█▏▎▍▌▋▊▉>.]{3,}/g;

function shape(line) {
  return line.lastElementChild.textContent.slice(0, SHAPE_LENGTH).replace(NUMBERS, "0").replace(/\s+/g, " ").trim();
}

// Problems are never folded, and neither is the line to which an address leads.
function staysOpen(line) {
  return line.matches(".error, .warning, .pointed");
}

export class Folds {
  constructor(lines, words) {
    this.lines = lines;
    this.words = words; // (number) => "12 alike lines"
    this.isOn = false;
    this.shapes = new WeakMap(); // a line → its length when it was read, and its shape
    lines.addEventListener("click", (event) => event.target.matches(".log-line.folds > span") && this.open(event.target.parentElement));
  }

  set(isOn) {
    this.isOn = isOn;
    this.lines.classList.toggle("folded", isOn);
    for (const line of this.lines.querySelectorAll("[data-opened]")) delete line.dataset.opened;
    this.refresh();
  }

  shapeOf(line) {
    const { bytes } = line.dataset;
    let known = this.shapes.get(line);
    if (known?.bytes !== bytes) this.shapes.set(line, (known = { bytes, shape: shape(line) }));
    return known.shape;
  }

  // All lines that are loaded, anew: runs grow at both ends, and lines can change while they are written.
  refresh() {
    if (!this.isOn && !this.lines.querySelector(".repeat")) return;
    for (const line of this.lines.querySelectorAll(".repeat, .folds")) {
      line.classList.remove("repeat", "folds");
      delete line.lastElementChild.dataset.folded;
    }
    if (!this.isOn) return;
    let run = [];
    let common = null;
    for (const line of this.lines.querySelectorAll(".log-line")) {
      const own = staysOpen(line) || "opened" in line.dataset ? null : this.shapeOf(line);
      if (own === null || own !== common) {
        this.fold(run);
        run = [];
      }
      common = own;
      if (own !== null) run.push(line);
    }
    this.fold(run);
  }

  fold(run) {
    const middle = run.slice(SHOWN_OF_A_RUN, -1);
    if (middle.length < LEAST_FOLDED) return;
    for (const line of middle) line.classList.add("repeat");
    const mark = run[SHOWN_OF_A_RUN - 1];
    mark.classList.add("folds");
    mark.lastElementChild.dataset.folded = this.words(middle.length);
  }

  open(mark) {
    for (let line = mark; line; line = line.nextElementSibling ?? line.parentElement.nextElementSibling?.firstElementChild) {
      if (line !== mark && !line.classList.contains("repeat")) break;
      line.dataset.opened = "";
    }
    this.refresh();
  }
}
