// Finding in the lines that are loaded. Hits are painted by the browser's highlights, so the lines stay as they are.

const PAINTED = 5_000;

export class Finder {
  constructor(root, lines, leaveEnd) {
    this.root = root;
    this.lines = lines;
    this.leaveEnd = leaveEnd;
    this.field = root.querySelector("[data-find]");
    this.forget();
    this.field.addEventListener("input", () => this.find(this.field.value));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        this.go(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") lines.focus();
    });
    root.querySelector("[data-next]").addEventListener("click", () => this.go(1));
    root.querySelector("[data-previous]").addEventListener("click", () => this.go(-1));
  }

  forget() {
    this.hits = [];
    this.here = -1;
  }

  find(text) {
    const needle = text.toLowerCase();
    this.forget();
    if (needle.length > 1) {
      const walker = document.createTreeWalker(this.lines, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (["i", "time"].includes(node.parentElement.localName)) continue;
        const hay = node.data.toLowerCase();
        for (let at = hay.indexOf(needle); at >= 0; at = hay.indexOf(needle, at + needle.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + needle.length);
          this.hits.push(range);
        }
      }
    }
    this.paint();
    if (this.hits.length) this.go(1);
  }

  go(step) {
    if (!this.hits.length) return;
    this.here = (this.here + step + this.hits.length) % this.hits.length;
    this.leaveEnd();
    this.hits[this.here].startContainer.parentElement.closest(".log-line").scrollIntoView({ block: "center" });
    this.paint();
  }

  paint() {
    this.root.querySelector("[data-found]").textContent = this.field.value.length > 1 ? `${this.here + 1} / ${this.hits.length}` : "";
    if (!CSS.highlights) return;
    CSS.highlights.set("found", new Highlight(...this.hits.slice(0, PAINTED)));
    CSS.highlights.set("found-here", new Highlight(...this.hits.slice(this.here, this.here + 1)));
  }
}
