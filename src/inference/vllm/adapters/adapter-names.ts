// Names of adapters in vLLM: one for each version and contents, never reused. vLLM caches prompts by the name, so
// other weights under the same name would get keys and values of the old ones.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { AdapterReference } from "../../../base/domain/generation.ts";

/** Enough digits of a hash to distinguish adapters of one id. */
const digitCount = 16;

/** Returns `<id>@<first digits of its hash>`; if the hash is unknown, uses its folder's path instead. */
export function adapterName({ id, folder, hash }: AdapterReference): string {
  const ofFolder = (): string => createHash("sha256").update(resolve(folder)).digest("hex");
  return `${id}@${(hash ?? ofFolder()).slice(0, digitCount)}`;
}

/** True if {@link adapterName} gives such a name; others are the operator's own. */
export function isAdapterName(name: string): boolean {
  return /:\d+@[0-9a-f]{16}$/.test(name);
}

/** True for a name of this id, with any contents. */
export function isNameOf(name: string, id: string): boolean {
  return isAdapterName(name) && name.slice(0, -(digitCount + 1)) === id;
}
