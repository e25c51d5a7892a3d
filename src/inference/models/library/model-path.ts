// Whether what somebody wants to add is a path of this machine, or a name of the hub.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";

/**
 * Whether a text names a file or folder that is there.
 *
 * @throws ServiceError `not_found` for what can only be a path, and is not there
 */
export function isModelPath(text: string): boolean {
  if (existsSync(text)) return true;
  const isPath = isAbsolute(text) || /^\.{1,2}([/\\]|$)|^~|\\|\.gguf$|\/$/i.test(text);
  if (isPath) throw new ServiceError({ code: "not_found", message: `There is no file or folder ${text}.` });
  return false;
}
