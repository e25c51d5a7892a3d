// Finds a Chromium for the browser tests and the screenshots.
import { existsSync } from "node:fs";

const places = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Message that says how to install a Chromium. */
export const chromiumCure =
  "Install a Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path.";

/** Returns the path of a Chromium; undefined if none is installed. */
export function findChromium() {
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}
