// For tests: the contract's tiny model on a stub server of a given kind, and trainers that use this server.
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { systemClock } from "../../../../base/domain/clock.ts";
import { tinyConfig, tinyLora } from "../../contract/tiny-model.ts";
import { tinyTrainers } from "../../contract/trainers-under-test.ts";
import { type ServerKindName, serverKinds } from "../server-kinds.ts";
import { TinkerTrainers, type TinkerTrainersOptions } from "../tinker-trainers.ts";
import type { StubOptions } from "./stub-operations.ts";
import { StubServer } from "./stub-server.ts";

/** Name of the base model on the stub server. */
export const tinyBase = "tiny-there";

/** Back-offs and pauses in milliseconds, short because the server runs in the same process. */
const limits: Pick<TinkerTrainersOptions, "connectionLimits" | "futureLimits"> = {
  connectionLimits: { pauseMs: 5, pauseMsMax: 20, patienceMs: 10_000 },
  futureLimits: { pauseMs: 5 },
};

/** Creates a stub server, and a function that returns trainers for the server's URL. */
export function tinyTinker(
  kind: ServerKindName,
  dataFolder: string,
  context: TestContext,
  options: Partial<StubOptions> = {},
): {
  readonly server: StubServer;
  readonly trainersAt: (url: string, more?: Partial<TinkerTrainersOptions>) => TinkerTrainers;
} {
  const folder = mkdtempSync(join(dataFolder, "elsewhere-"));
  const adapters = join(folder, "adapters");
  mkdirSync(adapters);
  const computing = tinyTrainers({ dataFolder: folder, microbatchTokens: 1000 });
  const server = new StubServer({
    kind,
    trainers: computing,
    base: tinyBase,
    rank: tinyLora.rank,
    folder,
    ...options,
  });
  context.after(async () => {
    await server.stop();
    await computing.close();
  });
  return {
    server,
    trainersAt: (url, more) =>
      new TinkerTrainers({
        address: {
          url,
          kind,
          bases: { "*": tinyBase },
          adapters: serverKinds[kind].adapters === "folder" ? adapters : null,
        },
        apiKey: "tml-key",
        config: tinyConfig,
        baseModelName: "tiny",
        rank: tinyLora.rank,
        sequenceLengthMax: 10,
        clock: systemClock,
        ...limits,
        ...more,
      }),
  };
}
