// Runs two kinds of streamed chats, plain and other ones, on one server alternately, so that drift in the machine's
// speed favours neither.
import type { ServedBuild } from "./served-build.ts";
import { medianRatio, runLoad, type ChatLoad, type LoadResult } from "./streamed-chats.ts";

type Body = Readonly<Record<string, unknown>>;

export interface TurnAboutResult {
  readonly plainTokensPerSecond: number;
  readonly otherTokensPerSecond: number;
  /** Each round gives a ratio: the other chats' rate divided by the plain chats' rate. This is the median. */
  readonly ratio: number;
}

/** @param bodies additional fields of the request bodies of the plain chats and of the other chats */
export async function measureTurnAbout(
  server: ServedBuild,
  load: ChatLoad,
  bodies: { readonly plain: Body; readonly other: Body },
  rounds: number,
): Promise<TurnAboutResult> {
  const results: Record<keyof typeof bodies, LoadResult[]> = { plain: [], other: [] };
  for (let round = 0; round < rounds; round++) {
    const order = ["plain", "other"] as const;
    for (const kind of round % 2 === 0 ? order : order.toReversed())
      results[kind].push(await runLoad(server, load, bodies[kind]));
  }
  return {
    plainTokensPerSecond: best(results.plain),
    otherTokensPerSecond: best(results.other),
    ratio: medianRatio(results.other, results.plain),
  };
}

function best(results: readonly LoadResult[]): number {
  return Math.max(...results.map(({ tokensPerSecond }) => tokensPerSecond));
}
