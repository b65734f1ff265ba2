// Live graphs with uPlot. Colours come from the CSS variables when drawn, so a change of theme draws again.

const MORE_MS = 500; // until a large file that nobody has asked for before is read to its end
const CHECK_MS = 3_000; // safety net beside the event stream, only while the tab is seen and the job goes on
const DASHES = { 1: [], 2: [5, 2.5], 3: [1.5, 2.5], 4: [7, 2, 1.5, 2], 5: [3, 1.5], 6: [9, 3] };
const FEW_POINTS = 12;
const OPEN_CHARTS = 12; // of a job that logs more, until somebody asks for the rest

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function smooth(values, weight) {
  // Exponential mean with its start corrected; gaps stay gaps.
  let mean = 0;
  let share = 0;
  return values.map((value) => {
    if (value === null || value === undefined) return value;
    mean = mean * weight + value * (1 - weight);
    share = share * weight + (1 - weight);
    return mean / share;
  });
}

function known(values) {
  return values.filter((value) => Number.isFinite(value));
}

function write(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "%") return `${(value * 100).toFixed(1)} %`;
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(1);
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
}

function tick(value, unit) {
  if (unit === "%") return `${Number((value * 100).toFixed(1))} %`;
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(0);
  return Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(3)));
}

class Chart {
  constructor(panel, element, key) {
    this.panel = panel;
    this.element = element;
    this.key = key;
    this.unit = element.dataset.unit;
    this.series = JSON.parse(element.dataset.series);
    this.others = JSON.parse(element.dataset.others || "[]"); // keys of curves that nobody chose, drawn faint
    this.head = element.closest(".panel");
    this.offerChoice();
    this.plot = null;
  }

  // One column of x for all lines. A value that was no number stays null and is a gap; a line without a point at an x has
  // undefined there, which uPlot draws through.
  columns() {
    const keys = [...this.series.map(({ key }) => key), ...this.others];
    const tables = keys.map((key) => this.panel.data.series[key] || [[], []]);
    const [x, ...columns] = tables.length > 1 ? uPlot.join(tables) : tables[0];
    const values = columns.slice(0, this.series.length);
    this.joined = [x, ...values];
    return [x, ...columns.slice(this.series.length), ...values.flatMap((raw) => [raw, this.panel.smoothing > 0 ? smooth(raw, this.panel.smoothing) : raw])];
  }

  allValues() {
    const keys = [...this.series.map(({ key }) => key), ...this.others];
    return keys.flatMap((key) => known((this.panel.data.series[key] || [[], []])[1]));
  }

  // Each entry of a legend of several becomes a button: while some are chosen, the other curves are faint.
  offerChoice() {
    const entries = [...this.head.querySelectorAll(".chart-legend > li")];
    if (entries.length < 2) return;
    entries.forEach((entry, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.choose = identity(this.series[place].key);
      button.append(...entry.childNodes);
      button.addEventListener("click", () => this.panel.choose(button.dataset.choose));
      entry.append(button);
    });
    this.showChoice();
  }

  // A choice counts in the graphs that have one of the chosen curves.
  showChoice() {
    const { chosen } = this.panel;
    const counts = this.series.some(({ key }) => chosen.has(identity(key)));
    for (const button of this.head.querySelectorAll("[data-choose]")) {
      button.setAttribute("aria-pressed", String(chosen.has(button.dataset.choose)));
    }
    this.faint = new Set(counts ? this.series.map(({ key }) => key).filter((key) => !chosen.has(identity(key))) : []);
    if (!this.plot) return;
    this.series.forEach(({ key }, place) => {
      const first = this.others.length + place * 2 + 1;
      this.plot.series[first].alpha = this.faint.has(key) ? 0.1 : 0.33;
      this.plot.series[first + 1].alpha = this.faint.has(key) ? 0.2 : 1;
    });
    this.plot.redraw(false);
  }

  isLogarithmic() {
    const values = this.allValues();
    const isChosen = this.panel.logarithmic || this.element.dataset.scale === "log";
    return isChosen && values.length > 0 && values.every((value) => value > 0);
  }

  // y starts where the news is: the first wild values of a training do not flatten the rest.
  range() {
    const values = this.allValues().sort((a, b) => a - b);
    if (!values.length) return [0, 1];
    const low = values[0];
    let high = values[values.length - 1];
    if (this.isLogarithmic()) {
      const from = 10 ** Math.floor(Math.log10(low));
      const to = 10 ** Math.ceil(Math.log10(high));
      return [from, to > from ? to : from * 10];
    }
    const usual = values[Math.floor((values.length - 1) * 0.98)];
    if (values.length > 40 && high > usual * 1.6 && usual > 0) high = usual * 1.25;
    if (this.unit === "%") return [low > 0.5 ? Math.floor(low * 10 - 0.2) / 10 : 0, Math.min(1, Math.max(high * 1.05, 0.1))];
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
  }

  draw() {
    this.plot?.destroy();
    const axis = {
      stroke: css("--gc-axis"),
      font: `11px ${css("--gc-sans")}`,
      grid: { stroke: css("--gc-grid"), width: 1 },
      ticks: { show: false },
    };
    const others = this.others.map(() => ({ stroke: css("--gc-ink-3"), width: 1, alpha: 0.3, points: { show: false } }));
    const lines = this.series.flatMap(({ key, word, colour }) => {
      const isFaint = this.faint?.has(key);
      const stroke = css(`--gc-c${colour}`);
      const points = {
        size: 5,
        fill: css("--gc-surface"),
        show: (plot, index) => known(plot.data[index]).length < FEW_POINTS,
      };
      const faint = { stroke, width: 1, alpha: isFaint ? 0.1 : 0.33, points: { show: false }, show: this.panel.smoothing > 0 };
      // One line alone needs no dash to be told apart; a rate that jumps is drawn as steps.
      const dash = this.series.length > 1 ? DASHES[colour] : [];
      const paths = this.element.dataset.scale === "log" ? uPlot.paths.stepped({ align: 1 }) : undefined;
      return [faint, { label: word, stroke, width: 2, dash, points, paths, alpha: isFaint ? 0.2 : 1 }];
    });
    const options = {
      ...this.size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: this.key, scales: ["x", null] }, points: { size: 7, width: 2, fill: css("--gc-surface") } },
      scales: { x: { time: false, range: (_plot, low, high) => [low < high * 0.1 ? 0 : low, high > low ? high : low + 1] }, y: { distr: this.isLogarithmic() ? 3 : 1, range: () => this.range() } },
      axes: [
        { ...axis, size: 26, gap: 4, values: (_plot, splits) => splits.map((value) => tick(value, "")) },
        { ...axis, size: 54, gap: 6, splits: this.isLogarithmic() ? decades : undefined, values: (_plot, splits) => splits.map((value) => (value === null ? "" : tick(value, this.unit))) },
      ],
      series: [{}, ...others, ...lines],
      hooks: { setCursor: [() => this.showValues()], draw: [(plot) => this.markSteps(plot)] },
    };
    this.element.replaceChildren();
    this.plot = new uPlot(options, this.columns(), this.element);
    this.showValues();
  }

  size() {
    return { width: Math.max(160, this.element.clientWidth - 16), height: Math.max(120, this.element.clientHeight - 16) };
  }

  update() {
    if (!this.series.some(({ key }) => this.panel.data.series[key]?.[0].length)) return this.empty();
    if (!this.plot || this.drawnLogarithmic !== this.isLogarithmic()) {
      this.drawnLogarithmic = this.isLogarithmic();
      return this.draw();
    }
    this.series.forEach((_series, place) => {
      const show = this.panel.smoothing > 0;
      const first = this.others.length + place * 2 + 1;
      if (this.plot.series[first].show !== show) this.plot.setSeries(first, { show });
    });
    this.plot.setData(this.columns());
    return this.showValues();
  }

  empty() {
    const words = document.createElement("p");
    words.className = "empty";
    words.textContent = this.panel.root.dataset.wordsEmpty;
    this.plot?.destroy();
    this.plot = null;
    this.element.replaceChildren(words);
  }

  // The values under the cursor stand in the legend, without a cursor those that the table says (`still`), else the last ones.
  // The name that a screen reader says has the latter.
  showValues() {
    const place = this.plot?.cursor.idx ?? null;
    const [x, ...columns] = this.joined || [[]];
    const last = x.length - 1;
    const names = this.series.map(({ key, word, still }, number) => {
      const values = columns[number] || [];
      this.head.querySelector(`[data-value="${CSS.escape(key)}"]`).textContent = place === null && still ? still : write(before(values, place ?? last), this.unit);
      return `${word} ${still || write(before(values, last), this.unit)}`;
    });
    this.element.setAttribute("aria-label", `${this.element.dataset.title}: ${names.join(", ")}`);
    if (place !== null) this.panel.showCursor(x[place]);
    else if (this.plot) this.panel.showCursor(null);
  }

  // A learning rate that jumps says by how much; one that falls all the time has nothing to mark.
  markSteps(plot) {
    if (this.element.dataset.scale !== "log") return;
    const [x, values] = [plot.data[0], plot.data[this.others.length + 1]];
    const known = values.filter((value) => Number.isFinite(value));
    if (known.filter((value, place) => place && value !== known[place - 1]).length > 6) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--gc-axis");
    ctx.lineWidth = devicePixelRatio;
    ctx.textAlign = "left";
    ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.font = `${11 * devicePixelRatio}px ${css("--gc-sans")}`;
    let previous = null;
    values.forEach((value, place) => {
      if (!Number.isFinite(value)) return;
      const jump = previous === null || previous === 0 ? 1 : value / previous;
      if (jump > 0 && (jump <= 0.55 || jump >= 1.9)) {
        const at = plot.valToPos(x[place], "x", true);
        ctx.beginPath();
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.stroke();
        ctx.fillText(`×${Number(jump.toPrecision(2))}`, at + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
      }
      previous = value;
    });
    ctx.restore();
  }
}

// What a choice is about: a job (`12:loss/train`), or a metric of the one job.
function identity(key) {
  return /^\d+:/.test(key) ? key.split(":")[0] : key;
}

// Ticks of a logarithmic scale: whole decades, and 2 and 5 where there are few.
function decades(_plot, _axis, low, high) {
  const from = Math.round(Math.log10(low));
  const to = Math.round(Math.log10(high));
  const steps = to - from < 2 ? [1, 2, 5] : [1];
  const all = [];
  for (let power = from; power <= to; power++) for (const step of steps) all.push(Number((step * 10 ** power).toPrecision(1)));
  return all.filter((value) => value <= high * 1.0001);
}

function before(values, place) {
  for (let at = Math.min(place, values.length - 1); at >= 0; at--) if (Number.isFinite(values[at])) return values[at];
  return null;
}

class Panel {
  constructor(root, number) {
    this.root = root;
    this.axis = "step";
    this.smoothing = 0;
    this.logarithmic = false;
    this.data = { series: {} };
    this.key = `charts-${number}`;
    this.asked = 0;
    this.chosen = new Set(); // jobs or metrics whose curves stand out
    this.charts = [...root.querySelectorAll("[data-chart]")].map((element) => new Chart(this, element, this.key));
    this.listen();
  }

  // A job's program decides what it logs, and may log more while the page is open: a graph is made when its first value comes.
  makeCharts() {
    const place = this.root.querySelector("[data-own-charts]");
    if (!place) return;
    const described = this.data.charts || [];
    place.classList.toggle("is-empty", !described.length);
    if (!described.length) place.textContent = this.root.dataset.wordsEmpty;
    const shown = this.showsAll ? described : described.slice(0, OPEN_CHARTS);
    const wanted = shown.map((chart) => JSON.stringify(chart));
    if (described.length && wanted.join() !== this.wanted?.join()) {
      this.wanted = wanted;
      for (const chart of this.charts) chart.plot?.destroy();
      place.replaceChildren(...this.elementsOf(shown));
      this.charts = [...place.querySelectorAll("[data-chart]")].map((element) => new Chart(this, element, this.key));
    }
    const more = this.root.querySelector("[data-more-charts]");
    more.hidden = shown.length === described.length;
    more.textContent = this.root.dataset.wordsMore.replace("{n}", described.length - shown.length);
    const note = this.root.querySelector("[data-charts-note]");
    note.hidden = !this.data.left_out;
    note.textContent = this.root.dataset.wordsLeftOut.replace("{n}", this.data.left_out);
  }

  elementsOf(described) {
    const { content } = this.root.querySelector("[data-chart-template]");
    const elements = [];
    let group = "";
    described.forEach((chart) => {
      if (chart.group !== group && chart.group) {
        const heading = document.createElement("h3");
        heading.className = "chart-group";
        heading.textContent = chart.group;
        elements.push(heading);
      }
      group = chart.group;
      elements.push(filledTemplate(content, chart, `graph-${chart.name}`));
    });
    return elements;
  }

  listen() {
    const { root } = this;
    for (const button of root.querySelectorAll("[data-axis]")) {
      button.addEventListener("click", () => {
        this.axis = button.dataset.axis;
        for (const other of root.querySelectorAll("[data-axis]")) other.setAttribute("aria-pressed", String(other === button));
        this.load();
      });
    }
    const slider = root.querySelector("[data-smoothing]");
    slider.addEventListener("input", () => {
      this.smoothing = Number(slider.value);
      slider.nextElementSibling.value = this.smoothing || "0";
      this.update();
    });
    root.querySelector("[data-logarithmic]").addEventListener("change", (event) => {
      this.logarithmic = event.target.checked;
      this.update();
    });
    root.querySelector("[data-more-charts]")?.addEventListener("click", () => {
      this.showsAll = true;
      this.update();
    });
    document.addEventListener("gc:theme", () => this.charts.forEach((chart) => chart.plot && chart.draw()));
    new ResizeObserver(() => this.charts.forEach((chart) => chart.plot?.setSize(chart.size()))).observe(root);
    if (root.dataset.topic) {
      document.body.addEventListener("gc:metrics", () => this.load());
      setInterval(() => document.hidden || !root.isConnected || this.load(), CHECK_MS);
    }
  }

  async load() {
    const asked = ++this.asked;
    try {
      const address = new URL(this.root.dataset.charts, location.href);
      address.searchParams.set("x", this.axis);
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (!answer.ok) return;
      const data = await answer.json();
      if (asked !== this.asked) return; // a later question was answered first
      this.data = data;
      this.update();
      if (data.is_whole === false && this.root.isConnected) setTimeout(() => this.load(), MORE_MS);
    } catch {
      // The next event or the next check asks again; the live mark says that the portal is away.
    }
  }

  choose(name) {
    if (!this.chosen.delete(name)) this.chosen.add(name);
    for (const chart of this.charts) chart.showChoice();
  }

  update() {
    this.makeCharts();
    for (const chart of this.charts) chart.update();
  }

  showCursor(x) {
    const words = { step: this.root.dataset.wordsStep, epoch: this.root.dataset.wordsEpoch, time: this.root.dataset.wordsTime };
    const text = x === null ? "" : `${words[this.axis]} ${tick(x, "")}`;
    this.root.querySelector("[data-cursor]").textContent = text;
  }
}

// The macro `chart` wrote the template; only its words and the place of its lines are filled in.
function filledTemplate(content, chart, id) {
  const panel = content.firstElementChild.cloneNode(true);
  const title = panel.querySelector("h3");
  const plot = panel.querySelector("[data-chart]");
  panel.setAttribute("aria-labelledby", `${id}-title`);
  title.id = `${id}-title`;
  title.textContent = chart.title;
  plot.id = id;
  plot.setAttribute("aria-label", chart.title);
  Object.assign(plot.dataset, { title: chart.title, unit: chart.unit, scale: chart.scale, series: JSON.stringify(chart.lines) });
  const legend = panel.querySelector(".chart-legend");
  const sample = legend.firstElementChild;
  legend.replaceChildren(...chart.lines.map((line) => filledLegend(sample.cloneNode(true), line)));
  return panel;
}

function filledLegend(entry, { key, word, colour }) {
  entry.querySelector(".dash").setAttribute("class", `dash c${colour}`);
  entry.querySelector("b").dataset.value = key;
  entry.querySelector("b").before(`${word} `);
  return entry;
}

let library = null;
let panels = 0;

function loadLibrary(address) {
  library ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", resolve);
    document.head.append(script);
  });
  return library;
}

// Graphs that are on the page, or that came into it later: a waiting job's page gets them when the job starts.
function begin() {
  for (const root of document.querySelectorAll("[data-charts]:not([data-begun])")) {
    root.dataset.begun = "";
    loadLibrary(root.dataset.library).then(() => new Panel(root, (panels += 1)).load());
  }
}

begin();
document.addEventListener("htmx:after:swap", begin);
