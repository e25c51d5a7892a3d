// What the loop puts out, as it crosses from the engine's process to the server's. Nearly all of it is single tokens:
// columns of numbers are written and read many times as fast as as many objects.
import { present } from "../../domain/assert.ts";
import type { GenerationEvent } from "../../domain/generation.ts";
import type { LoopOutput } from "../loop/settle.ts";

export interface PackedOutputs {
  /** Key, choice, id and log-probability of each single token without alternatives: [tokens, 4]. */
  readonly tokens: Float64Array;
  /** Everything else. */
  readonly others: readonly LoopOutput[];
  /** The place of each of these among all, ascending. */
  readonly otherPlaces: readonly number[];
}

type TokensOutput = Extract<LoopOutput, { readonly kind: "event" }> & {
  readonly event: Extract<GenerationEvent, { readonly kind: "tokens" }>;
};

const columnCount = 4;

export function packOutputs(outputs: readonly LoopOutput[]): PackedOutputs {
  const columns: number[] = [];
  const others: LoopOutput[] = [];
  const otherPlaces: number[] = [];
  for (const [place, output] of outputs.entries()) {
    if (isPlainToken(output)) {
      const { choice, tokens } = output.event;
      columns.push(output.key, choice, tokens[0].id, tokens[0].logprob);
    } else {
      others.push(output);
      otherPlaces.push(place);
    }
  }
  return { tokens: Float64Array.from(columns), others, otherPlaces };
}

/** What was packed, in its order. */
export function* unpackOutputs({ tokens, others, otherPlaces }: PackedOutputs): Generator<LoopOutput> {
  const count = tokens.length / columnCount + others.length;
  let otherCount = 0;
  for (let place = 0; place < count; place++) {
    if (otherPlaces[otherCount] === place) {
      yield present(others[otherCount], "an output for each place");
      otherCount += 1;
    } else {
      const at = columnCount * (place - otherCount);
      const token = { id: tokens[at + 2], logprob: tokens[at + 3], alternatives: [] };
      yield {
        kind: "event",
        key: tokens[at],
        event: { kind: "tokens", choice: tokens[at + 1], tokens: [token] },
      };
    }
  }
}

function isPlainToken(output: LoopOutput): output is TokensOutput {
  if (output.kind !== "event" || output.event.kind !== "tokens") return false;
  const { tokens } = output.event;
  return tokens.length === 1 && tokens[0].alternatives.length === 0;
}
