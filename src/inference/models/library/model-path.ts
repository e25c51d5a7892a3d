// Distinguishes paths on this machine from names of models on the hub.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";

/**
 * True if a text is the path of an existing file or folder.
 *
 * @throws ServiceError `not_found` if the text can only be a path, and no file or folder has that path
 */
export function isModelPath(text: string): boolean {
  if (existsSync(text)) return true;
  const isPath = isAbsolute(text) || /^\.{1,2}([/\\]|$)|^~|\\|\.gguf$|\/$/i.test(text);
  if (isPath) throw new ServiceError({ code: "not_found", message: `There is no file or folder ${text}.` });
  return false;
}
