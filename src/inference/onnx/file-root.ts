// Splits paths of weight files into a root folder and relative paths, because the runtime accepts only one folder and
// paths below it. On Windows each drive has its own root.
import { posix, win32, type PlatformPath } from "node:path";
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * A folder that contains all files, directly or in subfolders, and a function that returns a file's path relative to
 * this folder.
 */
export interface FileRoot {
  readonly folder: string;
  readonly pathOf: (file: string) => string;
}

/**
 * Returns the root of the file system in which all the files are.
 *
 * @param files relative paths start at the working folder
 * @param path the platform's path functions
 * @throws ServiceError `unsupported` if the files are on several drives
 */
export function rootOfFiles(
  files: readonly string[],
  path: PlatformPath = process.platform === "win32" ? win32 : posix,
): FileRoot {
  const rootOf = (file: string): string => path.parse(path.resolve(file)).root;
  const roots = [...new Set(files.map((file) => rootOf(file).toUpperCase()))];
  if (roots.length > 1)
    throw new ServiceError({
      code: "unsupported",
      message: `The model and its converted weights are on ${roots.join(" and ")}, but a process can map files of only one drive. Put the data folder (--data) on the drive of the model, or copy the model.`,
    });
  return {
    folder: rootOf(files[0] ?? "."),
    // ONNX uses slashes in paths on every platform.
    pathOf: (file) => path.resolve(file).slice(rootOf(file).length).replaceAll(path.sep, "/"),
  };
}
