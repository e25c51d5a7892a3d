// Part of every process and thread that runs the bundle: stack traces name the lines of the sources that it was made of. The
// maps are read when the first trace is, since reading them at each start would take as long as the bundle saves.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** By path of a bundled file. */
const maps = new Map();

Error.prepareStackTrace = (error, frames) => {
  // Node makes such an error for its report of the process, of which only numbers are read, at each start.
  const placeOf = error.code === "ERR_SYNTHETIC" ? String : located;
  return [headOf(error), ...frames.map((frame) => `    at ${placeOf(frame)}`)].join("\n");
};

/** An error may have a name or a message that cannot be read. */
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

/** Null where there is none. */
function mapOf(path) {
  if (!maps.has(path)) maps.set(path, readMap(path));
  return maps.get(path);
}

function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
  } catch {
    // A trace is worth having without it.
    return null;
  }
}
