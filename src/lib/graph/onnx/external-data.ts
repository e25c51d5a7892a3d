// An ONNX model's references to external data, including onnxruntime's entries for prepacked weights. The value of a
// `prepacked…` entry is a key, followed by `|offset;length;checksum` for each piece of the weight. This module reads
// and writes no data.
import { BinaryReader, WireType } from "../../protobuf/wire.ts";
import type { ArrangedWeight, FilePiece } from "../weight-source.ts";

/** A parameter whose data is in a separate file, outside the model. */
export interface ExternalParameter extends FilePiece {
  readonly name: string;
  readonly arranged: readonly ArrangedWeight[];
}

const arrangedPrefix = "prepacked";

/** Returns the entry of one prepacked weight. The runtime requires a checksum but does not verify it. */
export function arrangedEntry({ key, pieces }: ArrangedWeight, index: number): readonly [string, string] {
  const places = pieces.map(({ offset, byteLength }) => `${offset};${byteLength};0`);
  return [`${arrangedPrefix}_${index}`, [key, ...places].join("|")];
}

/** Returns a model's parameters whose data is in a file. */
export function readExternalParameters(model: Uint8Array): readonly ExternalParameter[] {
  const graphs = messagesOf(model, 7);
  return graphs
    .flatMap((graph) => messagesOf(graph, 5))
    .filter((tensor) => messagesOf(tensor, 13).length > 0)
    .map((tensor) => {
      const entries = messagesOf(tensor, 13).map((entry) => [textOf(entry, 1), textOf(entry, 2)] as const);
      const named = new Map(entries);
      return {
        name: textOf(tensor, 8),
        offset: Number(named.get("offset") ?? 0),
        byteLength: Number(named.get("length") ?? 0),
        arranged: entries.flatMap(([key, text]) =>
          key.startsWith(arrangedPrefix) ? [readArranged(text)] : [],
        ),
      };
    });
}

function readArranged(text: string): ArrangedWeight {
  const [key = "", ...places] = text.split("|");
  const pieces = places.map((place) => {
    const [offset, byteLength] = place.split(";").map(Number);
    return { offset, byteLength };
  });
  return { key, pieces };
}

function textOf(message: Uint8Array, field: number): string {
  return messagesOf(message, field)
    .map((bytes) => new TextDecoder().decode(bytes))
    .join("");
}

/** Returns the length-delimited values of a field: messages and texts. */
function messagesOf(message: Uint8Array, field: number): readonly Uint8Array[] {
  const reader = new BinaryReader(message);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === field && type === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(type);
  }
  return found;
}
