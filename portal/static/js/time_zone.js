// Notes the browser's time zone, so that pages show times in it. What a person chose in the profile counts before it.

const COOKIE = "gc_time_zone";
const YEAR_SECONDS = 365 * 86_400;

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const entry = `${COOKIE}=${encodeURIComponent(zone)}`;
if (zone && !document.cookie.split("; ").includes(entry)) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${entry}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`;
}
