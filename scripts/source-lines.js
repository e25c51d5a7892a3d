// Part of each process and thread that runs the bundle: makes stack traces name lines of the sources, not of the
// bundle. A source map is read only when a stack trace needs it. Reading all maps at each start would take as much time
// as the bundle saves.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Source maps, by path of the bundled file. */
const maps = new Map();

Error.prepareStackTrace = (error, frames) => {
  // Node.js creates this error for each process report. Hone reads only numbers from the report, so the stack trace
  // needs no source maps.
  const placeOf = error.code === "ERR_SYNTHETIC" ? String : located;
  return [headOf(error), ...frames.map((frame) => `    at ${placeOf(frame)}`)].join("\n");
};

/** Returns the first line of the trace. An error's name or message can be a getter that throws. */
function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "Error";
  }
}

function located(frame) {
  const [text, url] = [frame.toString(), frame.getFileName()];
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  if (!url?.startsWith("file:") || line === null || column === null) return text;
  const path = fileURLToPath(url);
  const entry = mapOf(path)?.findEntry(line - 1, column - 1);
  if (entry?.originalSource === undefined) return text;
  const source = resolve(dirname(path), entry.originalSource);
  return text.replace(
    `${url}:${line}:${column}`,
    () => `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`,
  );
}

/** Returns the source map of a bundled file; null if it has none. */
function mapOf(path) {
  if (!maps.has(path)) maps.set(path, readMap(path));
  return maps.get(path);
}

function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
  } catch {
    // Without its map, the file's frames show the lines of the bundle.
    return null;
  }
}
