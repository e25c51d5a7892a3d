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

/** How to have one where there is none. */
export const chromiumCure =
  "Install a Chromium (Debian: apt-get install chromium), or say where it is in CHROMIUM.";

/** Its path; undefined where there is none. */
export function findChromium() {
  return places.find((path) => path !== undefined && path !== "" && existsSync(path));
}
