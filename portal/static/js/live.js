// One EventSource per tab. Each event becomes the DOM event gc:<name> on <body>; the elements that show such rows then
// request their fragment again. The topic job:<id> sends gc:log and gc:metrics when that job's files grow. The stream
// closes while the tab is hidden; when it opens again, each name is dispatched once.

const LATE_MS = 20_000; // a beat that is so much later than announced is not coming
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000];

const body = document.body;
const address = body.dataset.stream;
let source = null;
let lastEventAt = 0;
let beatMs = 30_000; // each beat announces the next
let failures = 0;
let retry = 0;

function topics() {
  const named = (body.dataset.topics || "").split(",").map((topic) => topic.trim());
  const shown = [...document.querySelectorAll("[data-topic]")].map((element) => element.dataset.topic);
  return [...new Set([...named, ...shown])].filter(Boolean);
}

function eventNames(topics) {
  const files = topics.some((topic) => topic.startsWith("job:")) ? ["log", "metrics"] : [];
  return [...topics.filter((topic) => !topic.includes(":")), ...files];
}

function dispatch(name, detail) {
  body.dispatchEvent(new CustomEvent(`gc:${name}`, { detail, bubbles: true }));
}

function noteEvent() {
  lastEventAt = Date.now();
  failures = 0;
  showMarks();
}

function open(again) {
  clearTimeout(retry);
  if (source || document.hidden || "sessionOver" in body.dataset) return;
  const subscribed = topics();
  // The first stream begins with the events that were published since the page was rendered.
  const since = again ? "" : `&since=${body.dataset.since}`;
  const opened = new EventSource(`${address}?topics=${encodeURIComponent(subscribed.join(","))}${since}`);
  source = opened;
  opened.addEventListener("open", () => {
    noteEvent();
    if (again) eventNames(subscribed).forEach((name) => dispatch(name, {}));
  });
  opened.addEventListener("beat", (event) => {
    beatMs = 1_000 * parse(event.data).seconds || beatMs;
    noteEvent();
  });
  opened.addEventListener("end", () => {
    close();
    body.dispatchEvent(new Event("gc:check-session"));
  });
  for (const name of eventNames(subscribed)) {
    opened.addEventListener(name, (event) => {
      noteEvent();
      dispatch(name, parse(event.data));
    });
  }
  opened.addEventListener("error", () => {
    showMarks();
    if (opened.readyState !== EventSource.CLOSED) return; // the browser reconnects by itself
    close();
    body.dispatchEvent(new Event("gc:check-session"));
    retry = setTimeout(() => open(true), RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  });
}

function close() {
  source?.close();
  source = null;
}

function parse(data) {
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

function showSignedOut() {
  for (const mark of document.querySelectorAll("[data-live]")) {
    if (mark.dataset.live === "out") continue;
    const link = document.createElement("a");
    link.href = `${body.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.dataset.signInHere = "";
    link.textContent = mark.dataset.wordsOut;
    mark.replaceChildren(link);
    mark.dataset.live = "out";
  }
}

function showMarks() {
  if ("sessionOver" in body.dataset) return showSignedOut();
  if (!lastEventAt) return;
  const since = Date.now() - lastEventAt;
  const stale = since > beatMs + LATE_MS || source?.readyState !== EventSource.OPEN;
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
  body.addEventListener("gc:signed-out", () => {
    close();
    showMarks();
  });
  body.addEventListener("gc:signed-in", () => open(true));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open(true));
}
