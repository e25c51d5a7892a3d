// Files of libraries that the bundle expects next to it: native code of ONNX Runtime, and the pages of Swagger UI.
// With them, `dist` needs only libSQL from node_modules.
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

/** Platforms with native code, as folders of `dist/onnxruntime`, named as Node names platforms. */
export const platforms = ["linux/x64", "linux/arm64", "darwin/arm64", "win32/x64"];
export const thisPlatform = `${process.platform}/${process.arch}`;

const runtimeFolder = join(root, "node_modules", "onnxruntime-node", "bin", "napi-v6");
const pagesFolder = join(root, "node_modules", "@fastify", "swagger-ui", "static");
/**
 * Files that nothing loads: macOS's library under a second name, because packages hold no links, and DirectML, which
 * is loaded only by sessions that ask for it.
 */
const unused = /^(libonnxruntime\.\d+\.\d+\.\d+\.dylib|DirectML\.dll)$/;
/** ONNX Runtime's package has no text of its licence. */
const runtimeLicence = join(root, "scripts", "onnxruntime-licence.txt");

/** Puts what is missing or out of date into `dist`, for this platform unless told. */
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

/** Puts a file at a path as a link where it can be one, whole or not at all: a process may have the earlier one mapped. */
export function place(from, to) {
  const source = statSync(from);
  const there = statSync(to, { throwIfNoEntry: false });
  if (there?.size === source.size && there.mtimeMs === source.mtimeMs) return;
  mkdirSync(dirname(to), { recursive: true });
  const partial = `${to}.${process.pid}.partial`;
  try {
    linkSync(from, partial);
  } catch {
    // The two lie on different disks, or theirs knows no links.
    copyFileSync(from, partial);
    utimesSync(partial, source.atime, source.mtime);
  }
  rmSync(to, { force: true });
  renameSync(partial, to);
}
