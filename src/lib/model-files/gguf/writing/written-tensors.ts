// Plans the tensors of a GGUF file from those of a Hugging Face folder: names, shapes, and the order of rows. The plan
// is checked by reading it: the reader must find each source tensor again, with its shape.
import { present } from "../../../../base/domain/assert.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { Rearrangement, StoredTensor } from "../../stored-tensor.ts";
import { ggufTensorName, ggufTensors } from "../gguf-architecture.ts";
import { GgufMetadata } from "../metadata.ts";
import { plainValues, type TypedMetadata } from "../type-numbers.ts";

/** A tensor of the file, without its type. */
export interface PlannedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /**
   * Source tensors whose values follow each other in this tensor; several only for routed experts. Null if the values
   * are in `values`.
   */
  readonly sources: readonly StoredTensor[] | null;
  /** Values that no source tensor has; empty if there are sources. */
  readonly values: readonly number[];
  /** How the file orders or changes the values; absent if it has them as the sources do. */
  readonly rearranged?: Rearrangement;
}

/**
 * Plans the tensors.
 *
 * @param sources tensors of the folder, by their Hugging Face names
 * @param metadata metadata of the file, from which readers derive the order of rows
 * @throws ServiceError `unsupported` naming a tensor that the file's architecture does not have
 */
export function plannedTensors(
  sources: ReadonlyMap<string, StoredTensor>,
  { metadata, architecture }: { readonly metadata: TypedMetadata; readonly architecture: string },
): readonly PlannedTensor[] {
  const stacked = stackExperts(sources);
  const written = new Map(
    [...stacked].map(([name, { shape }]) => {
      const ggufName = ggufTensorName(name, architecture);
      if (ggufName === name) throw unknownTensor(name, architecture);
      return [ggufName, { ...place, name: ggufName, shape: withoutUnitAxes(shape) }] as const;
    }),
  );
  const reader = new GgufMetadata("the exported file", plainValues(metadata));
  const found = ggufTensors(
    { metadata: plainValues(metadata), valueTypes: new Map(), tensors: written },
    reader,
  );
  return [...stacked].map(([name, { shape, sources: own }]) => {
    const read = found.get(name);
    if (read === undefined || read.shape.join() !== shape.join()) throw unknownTensor(name, architecture);
    const planned = present(written.get(ggufTensorName(name, architecture)), name);
    return {
      name: planned.name,
      shape: planned.shape,
      sources: own,
      values: [],
      ...(read.rearranged && { rearranged: read.rearranged }),
    };
  });
}

/** Location of a tensor that is not written yet. */
const place = { type: "F32", file: "", offset: 0, byteLength: 0 } as const;

/** Returns the shape without inner axes of size 1. GGUF files do not have such axes. */
function withoutUnitAxes(shape: readonly number[]): readonly number[] {
  if (shape.length < 3) return shape;
  return shape.filter((size, axis) => size !== 1 || axis === 0 || axis === shape.length - 1);
}

interface StackedTensor {
  readonly shape: readonly number[];
  readonly sources: readonly StoredTensor[];
}

/** Joins the matrices of the experts of a layer to one tensor, at the place of the first matrix. */
function stackExperts(sources: ReadonlyMap<string, StoredTensor>): ReadonlyMap<string, StackedTensor> {
  const stacked = new Map<string, StackedTensor>();
  for (const [name, tensor] of sources) {
    const whole = name.replace(/\.experts\.\d+\./, ".experts.");
    const earlier = stacked.get(whole)?.sources ?? [];
    const all = [...earlier, tensor];
    stacked.set(whole, {
      shape: whole === name ? tensor.shape : [all.length, ...tensor.shape],
      sources: all,
    });
  }
  return new Map(
    [...stacked].map(([name, { shape, sources: own }]) => [name, { shape, sources: inExpertOrder(own) }]),
  );
}

function inExpertOrder(tensors: readonly StoredTensor[]): readonly StoredTensor[] {
  const indexOf = ({ name }: StoredTensor): number => Number(/\.experts\.(\d+)\./.exec(name)?.[1] ?? 0);
  return tensors.toSorted((one, other) => indexOf(one) - indexOf(other));
}

function unknownTensor(name: string, architecture: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `The model has the tensor ${name}, which GGUF files of the architecture ${architecture} do not have as this model has it. Export the version in the format merged or peft.`,
  });
}
