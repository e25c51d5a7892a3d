// Under which names vLLM knows adapters: one for each version and contents, never used for others. vLLM keeps what it has
// computed of prompts by the name, so that other weights under one name would be answered with keys and values of the old.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { AdapterReference } from "../../../base/domain/generation.ts";

/** As many digits of a hash as tell adapters of one id apart. */
const digitCount = 16;

/** `<id>@<the first digits of its hash>`; of its folder's, where its hash is not known. */
export function adapterName({ id, folder, hash }: AdapterReference): string {
  const ofFolder = (): string => createHash("sha256").update(resolve(folder)).digest("hex");
  return `${id}@${(hash ?? ofFolder()).slice(0, digitCount)}`;
}

/** Whether a name is one that {@link adapterName} gives; others are the operator's own. */
export function isAdapterName(name: string): boolean {
  return /:\d+@[0-9a-f]{16}$/.test(name);
}

/** Whether it is of the adapter's id, whatever its contents. */
export function isNameOf(name: string, id: string): boolean {
  return isAdapterName(name) && name.slice(0, -(digitCount + 1)) === id;
}
