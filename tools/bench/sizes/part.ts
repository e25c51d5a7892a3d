// A part of the benchmark: one measurement with a server of its own.
import type { Figure } from "./figure.ts";
import { ServedModel, type ServeOptions } from "./served-model.ts";
import type { SizedModel } from "./sized-model.ts";

export interface PartOptions extends ServeOptions {
  readonly model: SizedModel;
  /** Writes a line about the progress. */
  readonly say: (text: string) => void;
}

/** Measures a model; the server's data folder keeps converted weights for later parts. */
export type MeasurePart = (options: PartOptions) => Promise<readonly Figure[]>;

/** Starts a server, waits until it is idle, runs `use`, and always stops the server. */
export async function withIdleServer<T>(
  { model, say, ...options }: PartOptions,
  use: (server: ServedModel) => Promise<T>,
): Promise<T> {
  say("starting the server");
  const server = await ServedModel.start(model, options);
  try {
    say("waiting until the server is idle");
    await server.untilIdle();
    return await use(server);
  } finally {
    await server.stop();
  }
}
