// Builds the graph that computes the states of recurrences (delta rules, Mamba-2) after the first tokens of a draft. The
// draft graph computes only the state after all of its tokens, because a state after each token would take too much
// memory. The replay needs no weights, only the inputs of the recurrences, so it costs little.
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Graph, Value } from "../../../lib/graph/graph.ts";
import { present } from "../../../base/domain/assert.ts";
import type { ModelConfig } from "../config.ts";
import { matrixDims, recallAfter, recurrenceOf } from "../recurrent/recurrence.ts";
import { stateNames, stateShapes } from "./sequence-memory.ts";

/** Inputs of a recurrence that change its state. The queries only read the state. */
export const replayedInputs = ["k", "v", "logDecay", "strength"] as const;

/** Returns the name of a recurrence's input, as an output of the draft graph and an input of the replay graph. */
export function replayedName(state: number, input: (typeof replayedInputs)[number]): string {
  return `${input}.${state}`;
}

/**
 * Builds the graph for one row.
 * * Inputs per state of a recurrence: `state.i` [1, H, K, V] before the tokens; `k.i`, `v.i`, `logDecay.i` and
 *   `strength.i` [1, T, W], as in `RecurrenceInputs`.
 * * Output per state of a recurrence: `new_state.i` [1, H, K, V], with the same bits as from the decode graph after the
 *   same tokens.
 */
export function buildReplayGraph(config: ModelConfig): Graph {
  const { keyHeads, heads, keySize, valueSize } = present(recurrenceOf(config), "a recurrence");
  const builder = new GraphBuilder();
  const outputs: Record<string, Value> = {};
  for (const [state, { kind }] of stateShapes(config).entries()) {
    if (kind !== "matrices") continue;
    const input = (name: (typeof replayedInputs)[number], width: number): Value =>
      builder.input(replayedName(state, name), "float32", [1, "T", width]);
    const k = input("k", keyHeads * keySize);
    const inputs = {
      // The kernel needs queries, but the values that they read are not used.
      q: k,
      k,
      v: input("v", heads * valueSize),
      logDecay: input("logDecay", heads),
      strength: input("strength", heads),
    };
    const names = stateNames(state);
    const before = builder.input(names.state, "float32", [1, ...matrixDims(config)]);
    const { result, newState } = recallAfter(builder, config, inputs, before);
    outputs[names.newState] = newState;
    // The kernel always computes its first output, so the graph must name it.
    outputs[`unused.${state}`] = result;
  }
  return builder.build(outputs);
}
