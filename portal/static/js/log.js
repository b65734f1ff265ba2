// The log viewer. A window of whole lines [start, next) in bytes of one rank's file; it grows at both ends.
// The server answers a chunk of bytes with X-Log-Start, X-Log-Next, X-Log-EOF and, if it is quick to count,
// X-Log-Line: the number of the chunk's first line. Where times are asked for, X-Log-Times bytes come before the chunk:
// lines of a size and the second by which the file had grown to it (./log_times.js).

const CHUNK_BYTES = 65_536;
const BLOCK_LINES = 500;
const KEPT_LINES = 20_000;
const KEPT_OF_A_LINE = 65_536;
const MAX_CHUNKS = 40;
const CHECK_MS = 2_000;
const LINE_HEIGHT = 20;
const NEAR = 40; // px from an end that count as being there
let level;
let shown;
let write;
let Finder;
let LineTimes;
let Folds;

// The begun line with what was written since. Of one that never ends only what can be shown is kept: what
// follows the last \r, else its beginning; `size` is the bytes it really has.
function join(begun, end) {
  let bytes = new Uint8Array(begun.bytes.length + end.length);
  bytes.set(begun.bytes);
  bytes.set(end, begun.bytes.length);
  if (bytes.length > KEPT_OF_A_LINE) {
    const last = bytes.lastIndexOf(13, bytes.length - 2) + 1;
    bytes = bytes.slice(last, last + KEPT_OF_A_LINE);
  }
  return { bytes, size: begun.size + end.length };
}

class Log {
  constructor(root) {
    this.root = root;
    this.lines = root.querySelector("[data-lines]");
    this.followButton = root.querySelector("[data-follow]");
    this.newButton = root.querySelector("[data-new]");
    this.skippedButton = root.querySelector("[data-skipped]");
    this.fileSelects = [...root.querySelectorAll("select:not([data-level])")];
    this.levelSelect = root.querySelector("[data-level]");
    this.times = root.dataset.zone ? new LineTimes(root.dataset.zone) : null;
    this.follows = true;
    this.touched = 0; // when a person last moved the lines
    this.listen();
    this.restart();
  }

  words(name, number) {
    return this.root.dataset[name].replace("{n}", Number(number).toLocaleString("en"));
  }

  listen() {
    const { root, lines } = this;
    lines.addEventListener("scroll", () => this.scrolled(), { passive: true });
    for (const name of ["wheel", "touchmove", "keydown", "pointerdown", "pointermove"]) {
      lines.addEventListener(name, (event) => this.touch(name !== "pointermove" || event.buttons > 0), { passive: true });
    }
    lines.addEventListener("click", (event) => event.target.matches(".log-line > i") && this.point(event.target));
    this.followButton.addEventListener("click", () => this.setFollow(!this.follows));
    this.newButton.addEventListener("click", () => this.setFollow(true));
    this.skippedButton.addEventListener("click", () => this.loadSkipped());
    for (const select of this.fileSelects) select.addEventListener("change", () => this.choose());
    this.levelSelect?.addEventListener("change", () => this.chooseLevel());
    root.querySelector("[data-wrap]").addEventListener("change", (event) => lines.classList.toggle("wrap", event.target.checked));
    this.finder = new Finder(root, lines, () => this.setFollow(false));
    this.folds = new Folds(lines, (number) => this.words("wordsFolded", number));
    root.querySelector("[data-fold]")?.addEventListener("change", (event) => {
      this.folds.set(event.target.checked);
      this.stick();
    });
    new ResizeObserver(() => requestAnimationFrame(() => this.stick())).observe(lines);
    addEventListener("hashchange", () => this.toHash());
    if (root.dataset.topic) {
      document.body.addEventListener("gc:log", () => this.newer());
      setInterval(() => document.hidden || !root.isConnected || this.newer(), CHECK_MS);
    }
  }

  choose() {
    const chosen = this.fileSelects;
    // Several logs in one are rendered by the server.
    if (chosen.some((select) => ["both", "all"].includes(select.value))) return chosen[0].form.requestSubmit();
    const address = new URL(location.href);
    for (const select of this.fileSelects) {
      address.searchParams.set(select.name, select.value);
      // Whatever else on the page is about the chosen file: download, raw, search.
      for (const link of document.querySelectorAll("a[data-log-file]")) {
        const target = new URL(link.href);
        target.searchParams.set(select.name, select.value);
        link.href = target;
      }
      for (const input of document.querySelectorAll(`input[data-log-file][name="${select.name}"]`)) input.value = select.value;
    }
    this.root.querySelector(".log-pin")?.remove(); // it was the other file's
    address.hash = "";
    history.replaceState(null, "", address);
    this.restart();
  }

  // Lines of other levels are hidden. As few of them may remain, older ones are loaded until the view is full.
  chooseLevel() {
    const address = new URL(location.href);
    address.searchParams.set("level", this.levelSelect.value);
    history.replaceState(null, "", address);
    this.showLevel();
    this.stick();
  }

  async showLevel() {
    if (!this.levelSelect) return;
    this.lines.dataset.shows = this.levelSelect.value;
    const wanted = this.levelSelect.value;
    for (let chunks = 0, start = -1; wanted && chunks < MAX_CHUNKS && this.start > 0 && this.start !== start; ) {
      if (this.levelSelect.value !== wanted || this.lines.scrollHeight > this.lines.clientHeight) break;
      if (this.busy) {
        await new Promise((done) => setTimeout(done, 50));
        continue;
      }
      chunks += 1;
      start = this.start;
      await this.older();
    }
    this.showCount();
  }

  restart() {
    this.start = this.next = 0;
    this.firstLine = null; // number of the first line in the window; null: nobody counted
    this.count = 0;
    this.fresh = 0;
    this.open = null; // the last line, while its end has not been written
    this.busy = null;
    this.skipped = null; // where the window ended before it went on at the file's end: its byte, and its line if counted
    this.finder.forget();
    this.times?.forget();
    this.lines.replaceChildren();
    this.newButton.hidden = this.skippedButton.hidden = true;
    const linkedLine = Number(location.hash.match(/^#L(\d+)/)?.[1] || 0);
    if (linkedLine) this.toHash();
    else this.reload(-CHUNK_BYTES);
  }

  async fetchChunk(offset, limit = CHUNK_BYTES) {
    const address = new URL(this.root.dataset.log, location.href);
    for (const select of this.fileSelects) address.searchParams.set(select.name, select.value);
    if (this.times) address.searchParams.set("times", this.times.from);
    address.searchParams.set("offset", offset);
    address.searchParams.set("limit", limit);
    const answer = await fetch(address, { headers: { Accept: "text/plain" } });
    if (!answer.ok) throw new Error(`log ${answer.status}`);
    const number = (name) => (answer.headers.has(name) ? Number(answer.headers.get(name)) : null);
    const body = new Uint8Array(await answer.arrayBuffer());
    const begin = number("X-Log-Times") ?? 0;
    this.times?.read(body.subarray(0, begin));
    return {
      start: number("X-Log-Start"),
      next: number("X-Log-Next"),
      line: number("X-Log-Line"),
      isEnd: answer.headers.get("X-Log-EOF") === "1",
      bytes: body.subarray(begin),
    };
  }

  // One request at a time; an event that comes meanwhile is handled by the next check.
  async once(work) {
    if (this.busy) return;
    const mine = (this.busy = {});
    try {
      await work(() => this.busy === mine);
      this.root.classList.remove("lost");
    } catch {
      this.root.querySelector("[data-count]").textContent = this.root.dataset.wordsLost;
    } finally {
      if (this.busy === mine) this.busy = null;
    }
  }

  reload(offset) {
    return this.once(async (isMine) => {
      const chunk = await this.fetchChunk(offset);
      if (!isMine()) return;
      this.start = chunk.start;
      this.next = chunk.next;
      this.firstLine = chunk.line ?? (chunk.start === 0 ? 1 : null);
      this.append(chunk.bytes, chunk.start);
      this.showSkipped();
      this.fresh = 0;
      if (!chunk.bytes.length) this.showCount();
      queueMicrotask(() => this.showLevel());
      if (!chunk.isEnd) queueMicrotask(() => this.newer());
    });
  }

  newer() {
    return this.once(async (isMine) => {
      for (let more = 1; more; ) {
        if (more > MAX_CHUNKS) return this.skip();
        const chunk = await this.fetchChunk(this.next);
        if (!isMine()) return;
        if (chunk.start < this.next) return this.restart(); // the file is shorter than it was: another one
        this.next = chunk.next;
        if (chunk.bytes.length) this.append(chunk.bytes, chunk.start);
        else this.times?.complete();
        more = !chunk.isEnd && chunk.bytes.length > 0 && this.follows ? more + 1 : 0;
      }
      this.stick();
    });
  }

  older() {
    if (this.start === 0) return undefined;
    return this.once(async (isMine) => {
      const offset = Math.max(0, this.start - CHUNK_BYTES);
      const chunk = await this.fetchChunk(offset, this.start - offset);
      if (!isMine()) return;
      let bytes = chunk.bytes.subarray(0, this.start - chunk.start);
      let from = chunk.start;
      if (from > 0) {
        const cut = bytes.indexOf(10) + 1; // a chunk that begins inside a line leaves that line out
        if (cut > 0 && cut < bytes.length) {
          bytes = bytes.subarray(cut);
          from += cut;
        }
      }
      this.prepend(bytes, from);
      this.start = from;
      this.showSkipped();
    });
  }

  // It is written faster than shown: go on at its end, and say how much lies between.
  skip() {
    const counted = this.firstLine === null ? null : this.firstLine + this.count;
    const skipped = this.skipped ?? { offset: this.next, line: counted };
    this.restart();
    this.skipped = skipped;
  }

  showSkipped() {
    const { skipped, skippedButton } = this;
    if (skipped && this.start <= skipped.offset) this.skipped = null;
    skippedButton.hidden = !this.skipped;
    if (!this.skipped) return;
    const isCounted = skipped.line !== null && this.firstLine !== null;
    skippedButton.textContent = isCounted
      ? `${this.words("wordsSkipped", Math.max(1, this.firstLine - skipped.line))} ↑`
      : `${this.root.dataset.wordsSkippedSome} ↑`;
  }

  // As far as the window reaches; whoever scrolls up from there loads the rest.
  async loadSkipped() {
    this.setFollow(false);
    for (let start = -1; this.skipped && this.start !== start && this.count < KEPT_LINES; ) {
      if (this.busy) {
        await new Promise((done) => setTimeout(done, 50));
        continue;
      }
      start = this.start;
      await this.older();
    }
    this.lines.scrollTop = 0;
  }

  split(bytes) {
    const texts = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      texts.push(bytes.subarray(from, end));
      from = end + 1;
    }
    return { whole: texts, rest: bytes.subarray(from) };
  }

  // `offset` is the place of the first byte in the file.
  append(bytes, offset) {
    const { whole, rest } = this.split(bytes);
    this.times?.complete();
    let place = offset;
    if (this.open) {
      const end = whole.length ? whole.shift() : rest;
      const joined = { element: this.open.element, ...join(this.open, end) };
      this.fill(joined.element, joined.bytes);
      joined.element.dataset.bytes = joined.size + 1;
      place += end.length + 1;
      this.open = bytes.includes(10) ? null : joined;
      if (this.open) return this.appended(0);
    }
    let block = this.lines.lastElementChild;
    const add = (text) => {
      if (!block || block.childElementCount >= BLOCK_LINES) {
        block = this.block();
        this.lines.append(block);
      }
      const element = this.line(text, this.firstLine === null ? null : this.firstLine + this.count, place);
      place += text.length + 1;
      block.append(element);
      this.count += 1;
      return element;
    };
    whole.forEach(add);
    if (rest.length) this.open = { element: add(rest), bytes: rest.slice(), size: rest.length };
    this.trim();
    return this.appended(whole.length);
  }

  prepend(bytes, offset) {
    const { whole } = this.split(bytes);
    const places = [];
    for (let at = offset, number = 0; number < whole.length; number += 1) {
      places.push(at);
      at += whole[number].length + 1;
    }
    if (!whole.length) return;
    const height = this.lines.scrollHeight;
    this.firstLine = this.firstLine === null ? null : this.firstLine - whole.length;
    for (let end = whole.length; end > 0; end -= BLOCK_LINES) {
      const from = Math.max(0, end - BLOCK_LINES);
      const block = this.block();
      whole.slice(from, end).forEach((text, place) => {
        block.append(this.line(text, this.firstLine === null ? null : this.firstLine + from + place, places[from + place]));
      });
      this.lines.prepend(block);
    }
    this.count += whole.length;
    this.folds.refresh();
    this.lines.scrollTop += this.lines.scrollHeight - height;
    this.showCount();
  }

  // The window stays small: what is far above is asked for again when someone scrolls there.
  trim() {
    while (this.count > KEPT_LINES && this.lines.childElementCount > 1) {
      const first = this.lines.firstElementChild;
      const bytes = [...first.children].reduce((sum, line) => sum + Number(line.dataset.bytes), 0);
      this.start += bytes;
      this.count -= first.childElementCount;
      if (this.firstLine !== null) this.firstLine += first.childElementCount;
      first.remove();
    }
  }

  block() {
    const block = document.createElement("div");
    block.className = "log-block";
    block.style.containIntrinsicSize = `auto ${BLOCK_LINES * LINE_HEIGHT}px`;
    return block;
  }

  line(bytes, number, place) {
    const line = document.createElement("div");
    const label = document.createElement("i");
    if (number !== null) {
      label.textContent = number;
      line.id = `L${number}`;
    }
    line.append(label);
    if (this.times) line.append(this.times.element(place));
    line.append(document.createElement("span"));
    this.fill(line, bytes);
    return line;
  }

  fill(line, bytes) {
    const text = shown(bytes, this.root.dataset.wordsCut);
    line.className = ["log-line", this.times ? "timed" : "", level(text)].filter(Boolean).join(" ");
    line.dataset.bytes = bytes.length + 1;
    line.lastElementChild.replaceChildren();
    write(text, line.lastElementChild);
  }

  appended(lines) {
    this.folds.refresh();
    this.stick();
    if (!this.follows) {
      this.fresh += lines;
      this.newButton.hidden = this.fresh === 0;
      this.newButton.textContent = `${this.words("wordsNew", this.fresh)} ↓`;
    }
    this.showCount();
  }

  showCount() {
    const number = this.firstLine === null ? this.count : this.firstLine - 1 + this.count;
    let text = number ? this.words("wordsLines", number) : this.root.dataset.wordsEmpty;
    if (this.levelSelect?.value && number) {
      const levels = this.levelSelect.value === "errors" ? ".error" : ".error, .warning";
      const count = this.words("wordsShown", this.lines.querySelectorAll(levels).length);
      text = count.replace("{of}", this.count.toLocaleString("en"));
    }
    this.root.querySelector("[data-count]").textContent = text;
  }

  setFollow(on) {
    this.follows = on;
    this.followButton.setAttribute("aria-pressed", String(on));
    if (!on) return;
    this.fresh = 0;
    this.newButton.hidden = true;
    this.stick();
    this.newer();
  }

  touch(isMoving) {
    if (isMoving) this.touched = Date.now();
  }

  stick() {
    if (this.follows) this.lines.scrollTop = this.lines.scrollHeight;
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.lines;
    const below = scrollHeight - scrollTop - clientHeight;
    if (this.follows && below > NEAR) {
      // Only a person ends following; the browser moves the view too when it lays lines out again.
      if (Date.now() - this.touched < 1_000) this.setFollow(false);
      else this.stick();
    }
    if (scrollTop < NEAR && this.start > 0) this.older();
    if (below < NEAR && !this.follows) {
      this.fresh = 0;
      this.newButton.hidden = true;
      this.newer();
    }
  }

  point(label) {
    if (!label.textContent) return;
    history.replaceState(null, "", `#L${label.textContent}`);
    this.mark(label.parentElement);
  }

  mark(line) {
    this.lines.querySelector(".pointed")?.classList.remove("pointed");
    line.classList.add("pointed");
    line.scrollIntoView({ block: "center" });
  }

  // A linked line is searched from the log's beginning, as far as the window reaches.
  async toHash() {
    const linkedLine = location.hash.match(/^#L(\d+)/)?.[1];
    if (!linkedLine) return;
    this.setFollow(false);
    const inside = () => this.root.querySelector(`#L${linkedLine}`);
    if (!inside()) {
      this.lines.replaceChildren();
      Object.assign(this, { start: 0, next: 0, firstLine: 1, count: 0, open: null, busy: null });
      let size = -1;
      while (!inside() && this.next !== size && this.count < KEPT_LINES - 1_000) {
        size = this.next;
        await this.newer();
      }
    }
    this.fresh = 0;
    this.newButton.hidden = true;
    const line = inside();
    if (line) this.mark(line);
    else this.setFollow(true);
  }

}

const roots = document.querySelectorAll("[data-log]");
if (roots.length) {
  // The version in this module's own address goes on to the ones it needs, so that an update reaches all of them.
  const { search } = new URL(import.meta.url);
  const [text, finding, timing, folding] = await Promise.all(
    ["lines", "search", "times", "folds"].map((name) => import(`./log_${name}.js${search}`)),
  );
  ({ level, shown, write } = text);
  ({ Finder } = finding);
  ({ LineTimes } = timing);
  ({ Folds } = folding);
  for (const root of roots) new Log(root);
}
