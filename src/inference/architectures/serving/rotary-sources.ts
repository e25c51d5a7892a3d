// The rotary tables as data for sessions: in memory, or in a cache file that all sessions of a model map.
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import { rotarySizeOf, type ModelConfig } from "../config.ts";
import { rotaryTableNames } from "../decoder.ts";
import { rotaryTables } from "../rotary.ts";
import { ensureCached, type CachedPart, type CachePlace } from "../weights-cache.ts";

/** Returns the cosines and sines of the rotary embeddings, for graphs that take their weights as inputs. */
export function rotarySources(config: ModelConfig): ReadonlyMap<string, { readonly data: Float32Array }> {
  return new Map(
    config.rotaries.flatMap((_, index) => {
      const tables = tablesOf(config, index);
      return partsOf(config, index).map(({ name }, table) => [name, { data: tables[table] }] as const);
    }),
  );
}

/** Like {@link rotarySources}, but in a cache file, which is written if it is missing. */
export function cachedRotarySources(
  config: ModelConfig,
  place: Omit<CachePlace, "ending" | "format">,
): ReadonlyMap<string, WeightSource<"float32">> {
  const indices = config.rotaries.map((_, index) => index);
  const sizes = indices.map((index) => rotarySizeOf(config, index));
  const content = JSON.stringify([config.rotaries, sizes, config.contextLength]);
  const entries = indices.map((index) => ({
    parts: partsOf(config, index),
    made: () => tablesOf(config, index),
  }));
  return ensureCached({ ...place, ending: ".rotary", format: `hone-rotary-1 ${content}` }, [], entries);
}

function partsOf(config: ModelConfig, index: number): readonly CachedPart[] {
  const { cos, sin } = rotaryTableNames(index);
  const shape = [config.contextLength, rotarySizeOf(config, index) / 2];
  return [cos, sin].map((name) => ({ name, dtype: "float32", shape }));
}

/** Returns the cosines and the sines of one rotary embedding. */
function tablesOf(config: ModelConfig, index: number): readonly Float32Array[] {
  const size = { rotarySize: rotarySizeOf(config, index), positionCount: config.contextLength };
  const { cosines, sines } = rotaryTables(config.rotaries[index], size);
  return [cosines, sines];
}
