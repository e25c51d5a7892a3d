// Assembles a GGUF file from its header, tensors and padding.
import {
  dataBytesOf,
  ggufHeader,
  type HeaderTensor,
  paddingAfter,
} from "../../../lib/model-files/gguf/writing/gguf-header.ts";
import type { TypedMetadata } from "../../../lib/model-files/gguf/type-numbers.ts";
import type { FilePart, PlannedFile } from "./row-parts.ts";

/** Returns the file. `parts` are the bytes of each tensor, without padding. */
export function fileOf(
  name: string,
  metadata: TypedMetadata,
  tensors: readonly HeaderTensor[],
  parts: readonly (readonly FilePart[])[],
): PlannedFile {
  const header = ggufHeader(metadata, tensors);
  const padded = tensors.flatMap((tensor, index): readonly FilePart[] => {
    const padding = new Uint8Array(paddingAfter(dataBytesOf(tensor)));
    return padding.length === 0 ? parts[index] : [...parts[index], { kind: "made", bytes: padding }];
  });
  const dataBytes = tensors.map((tensor) => dataBytesOf(tensor) + paddingAfter(dataBytesOf(tensor)));
  return {
    name,
    byteCount: dataBytes.reduce((sum, bytes) => sum + bytes, header.length),
    parts: [{ kind: "made", bytes: header }, ...padded],
  };
}
