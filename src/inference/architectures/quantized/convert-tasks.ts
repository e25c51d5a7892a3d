// Tasks of the threads that convert a model's weights: each converts some rows, and writes them to the cache file.
import { closeSync, openSync } from "node:fs";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { convertWeight, type Conversion, type RowRange } from "./conversion.ts";
import { writeParts, type PlacedPart } from "./written-parts.ts";

export interface ConvertTasks {
  readonly convert: { readonly task: ConvertTask; readonly result: null };
}

export interface ConvertTask {
  readonly conversion: Conversion;
  readonly range: RowRange | null;
  readonly file: string;
  readonly parts: readonly PlacedPart[];
}

export function openTasks(): TaskHandlers<ConvertTasks> {
  return {
    convert: ({ conversion, range, file, parts }) => {
      const descriptor = openSync(file, "r+");
      try {
        writeParts(descriptor, parts, { range, data: convertWeight(conversion, range) });
      } finally {
        closeSync(descriptor);
      }
      return null;
    },
  };
}
