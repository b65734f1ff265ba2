// One EventSource per tab. It is a doorbell: each ring becomes the DOM event gc:<name> on <body>, and whoever shows
// that asks for its piece again. Topics are asked for by name; job:<id> rings as gc:log and gc:metrics when that job's
// files grow. The stream closes while the tab is hidden; on return every name rings once.

const SILENT_AFTER_MS = 25_000; // the server beats every 10 s
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000];

const body = document.body;
const address = body.dataset.stream;
let source = null;
let lastHeard = 0;
let failures = 0;
let retry = 0;

function topics() {
  const named = (body.dataset.topics || "").split(",").map((topic) => topic.trim());
  const shown = [...document.querySelectorAll("[data-topic]")].map((element) => element.dataset.topic);
  return [...new Set([...named, ...shown])].filter(Boolean);
}

function names(wanted) {
  const files = wanted.some((topic) => topic.startsWith("job:")) ? ["log", "metrics"] : [];
  return [...wanted.filter((topic) => !topic.includes(":")), ...files];
}

function ring(topic, detail) {
  body.dispatchEvent(new CustomEvent(`gc:${topic}`, { detail, bubbles: true }));
}

function heard() {
  lastHeard = Date.now();
  failures = 0;
  showMarks();
}

function open(again) {
  clearTimeout(retry);
  if (source || document.hidden) return;
  const wanted = topics();
  // What rang between the page and its stream is told on the first opening.
  const since = again ? "" : `&since=${body.dataset.since}`;
  const opened = new EventSource(`${address}?topics=${encodeURIComponent(wanted.join(","))}${since}`);
  source = opened;
  opened.addEventListener("open", () => {
    heard();
    if (again) names(wanted).forEach((name) => ring(name, {}));
  });
  opened.addEventListener("beat", heard);
  opened.addEventListener("message", heard);
  opened.addEventListener("end", close); // the session is over; the next click leads to the sign-in page
  for (const name of names(wanted)) {
    opened.addEventListener(name, (event) => {
      heard();
      ring(name, read(event.data));
    });
  }
  opened.addEventListener("error", () => {
    showMarks();
    if (opened.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    close();
    retry = setTimeout(() => open(true), RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  });
}

function close() {
  source?.close();
  source = null;
}

function read(data) {
  try {
    return JSON.parse(data);
  } catch {
    return {};
  }
}

function ago(words, seconds) {
  if (seconds < 60) return words.agoS.replace("{n}", seconds);
  return words.agoMin.replace("{n}", Math.floor(seconds / 60));
}

function showMarks() {
  if (!lastHeard) return;
  const since = Date.now() - lastHeard;
  const stale = since > SILENT_AFTER_MS || source?.readyState !== EventSource.OPEN;
  for (const mark of document.querySelectorAll("[data-live]")) {
    const words = {
      live: "short" in mark.dataset ? mark.dataset.wordsShort : mark.dataset.wordsLive,
      stale: mark.dataset.wordsStale,
      agoS: mark.dataset.wordsAgoS,
      agoMin: mark.dataset.wordsAgoMin,
    };
    const text = (stale ? words.stale : words.live).replace("{ago}", ago(words, Math.round(since / 1000)));
    if (mark.textContent !== text) mark.textContent = text;
    mark.dataset.live = stale ? "stale" : "on";
  }
}

if (address) {
  open(false);
  setInterval(showMarks, 1_000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else open(true);
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open(true));
}
