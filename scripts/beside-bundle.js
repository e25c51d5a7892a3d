// Copies to `dist`, next to the bundle, the library files that the bundle needs: native code of ONNX Runtime, and the
// static files of Swagger UI. With them, `dist` needs only libSQL from node_modules.
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./setup.js";

/**
 * Platforms for which ONNX Runtime has native code, in Node.js's names. Each is also a folder of `dist/onnxruntime`.
 */
export const platforms = ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64"];
export const thisPlatform = `${process.platform}/${process.arch}`;

const runtimeFolder = join(root, "node_modules", "onnxruntime-node", "bin", "napi-v6");
const pagesFolder = join(root, "node_modules", "@fastify", "swagger-ui", "static");
/**
 * Files that nothing loads: a second copy of the macOS library under another name (npm packages cannot contain links),
 * and DirectML, which is loaded only for sessions that request it.
 */
const unused = /^(libonnxruntime\.\d+\.\d+\.\d+\.dylib|DirectML\.dll)$/;
/** Licence of ONNX Runtime. It is in this repository because the npm package does not contain it. */
const runtimeLicence = join(root, "scripts", "onnxruntime-licence.txt");

/** Copies missing and outdated files to `dist`, by default only for this platform. */
export function placeBesideBundle(wanted = [thisPlatform]) {
  for (const platform of wanted) {
    const from = join(runtimeFolder, platform);
    for (const name of filesIn(from, platform).filter((one) => !unused.test(one)))
      place(join(from, name), join(root, "dist", "onnxruntime", platform, name));
  }
  place(runtimeLicence, join(root, "dist", "onnxruntime", "LICENSE"));
  for (const name of readdirSync(pagesFolder))
    place(join(pagesFolder, name), join(root, "dist", "swagger-ui", name));
}

function filesIn(folder, platform) {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new Error(`ONNX Runtime has no build for ${platform}; Hone runs on ${platforms.join(", ")}.`, {
      cause,
    });
  }
}

/**
 * Places a file atomically, as a hard link if possible. The old file is replaced, not overwritten, because a running
 * process may have mapped it.
 */
export function place(from, to) {
  const source = statSync(from);
  const there = statSync(to, { throwIfNoEntry: false });
  if (there?.size === source.size && there.mtimeMs === source.mtimeMs) return;
  mkdirSync(dirname(to), { recursive: true });
  const partial = `${to}.${process.pid}.partial`;
  try {
    linkSync(from, partial);
  } catch {
    // Copies, because the folders are on different disks, or the file system has no hard links.
    copyFileSync(from, partial);
    utimesSync(partial, source.atime, source.mtime);
  }
  rmSync(to, { force: true });
  renameSync(partial, to);
}
