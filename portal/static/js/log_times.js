// When the lines of a log were written: the server says by which second a file had grown to which size.

const decoder = new TextDecoder();

export class LineTimes {
  constructor(zone) {
    // The Swedish form is the one with the year first: 2026-11-23 20:15:03.
    this.format = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: zone });
    this.forget();
  }

  forget() {
    this.entries = []; // [size, seconds], of the chunk that was read last
    this.untimed = []; // elements of lines whose time was not recorded yet, with their places
    this.texts = new Map();
  }

  // From which byte on times are missing. Beyond all files: those of the next chunk are enough.
  get from() {
    return this.untimed.length ? this.untimed[0].place : 999_999_999_999_999;
  }

  read(bytes) {
    const lines = decoder.decode(bytes).split("\n");
    this.entries = lines.filter(Boolean).map((line) => line.split(" ").map(Number));
  }

  // The first entry with a larger size than the byte's place, found by halving.
  secondOf(place) {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle][0] > place) high = middle;
      else low = middle + 1;
    }
    return this.entries[low]?.[1] ?? null;
  }

  element(place) {
    const time = document.createElement("time");
    if (!this.fill(time, place)) this.untimed.push({ time, place });
    return time;
  }

  // Lines at the end of a file get their times a second later.
  complete() {
    this.untimed = this.untimed.filter(({ time, place }) => time.isConnected && !this.fill(time, place));
  }

  fill(time, place) {
    const second = this.secondOf(place);
    if (second === null) return false;
    let text = this.texts.get(second);
    if (!text) {
      text = this.format.format(second * 1000);
      this.texts.set(second, text);
    }
    time.dateTime = new Date(second * 1000).toISOString();
    time.title = text;
    time.textContent = text.slice(-8);
    return true;
  }
}
