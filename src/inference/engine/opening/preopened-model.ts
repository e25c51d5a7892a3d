// A model that an engine's process opens in advance, while the server is still starting. Opening it uses only cached
// data, because the process may not write until the server owns its data folder.
import { isDeepStrictEqual } from "node:util";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { OpenModel } from "../loop-engine.ts";
import type { ModelOpening } from "./model-opening.ts";
import { openCachedModel, openModelFolder } from "./open-model-folder.ts";

export class PreopenedModel {
  readonly #opening: ModelOpening;
  /** The opened model; null if it was taken, or if it could not be opened. */
  #model: Promise<OpenModel | null>;

  constructor(opening: ModelOpening) {
    this.#opening = opening;
    this.#model = openCachedModel(opening);
  }

  /**
   * Returns the model for an engine: the one that was opened in advance if its parameters match, otherwise a newly
   * opened one.
   *
   * @throws ServiceError as `openModelFolder`
   */
  static async open(ahead: PreopenedModel | null, opening: ModelOpening, logger: Logger): Promise<OpenModel> {
    const taken = ahead === null ? null : await ahead.#take(opening);
    return taken ?? openModelFolder(opening, logger);
  }

  /** True if the model is open and has not been taken. Waits until opening has ended. */
  async isOpen(): Promise<boolean> {
    return (await this.#model) !== null;
  }

  async #take(opening: ModelOpening): Promise<OpenModel | null> {
    const model = await this.#model;
    this.#model = Promise.resolve(null);
    if (model === null || isDeepStrictEqual(opening, this.#opening)) return model;
    await model.runner.close();
    return null;
  }
}
