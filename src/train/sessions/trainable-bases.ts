// The base models that clients train on: their names, and whether they can be trained here.
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { SessionDependencies } from "./session-requests.ts";

export class TrainableBases {
  readonly #dependencies: Pick<SessionDependencies, "bases" | "requireLive" | "settings">;

  constructor(dependencies: Pick<SessionDependencies, "bases" | "requireLive" | "settings">) {
    this.#dependencies = dependencies;
  }

  /** True if clients can train models on a base model. */
  isTrainable(baseModel: string): boolean {
    if (this.#dependencies.settings.modelsMax === 0) return false;
    try {
      this.#dependencies.requireLive(baseModel);
      return true;
    } catch {
      // Ignores the reason. A request to train on this base model reports it.
      return false;
    }
  }

  /**
   * Returns the name on this server of a base model to train on.
   *
   * @throws ServiceError `not_found` for an unknown base model, `unsupported` for one that cannot be trained here
   */
  require(baseName: string): string {
    const { bases, requireLive } = this.#dependencies;
    const name = this.baseOf(baseName);
    if (!bases.includes(name))
      throw new ServiceError({
        code: "not_found",
        message: `There is no base model ${quoted(baseName)}; this server has ${bases.slice(0, 20).join(", ")}.`,
      });
    requireLive(name);
    return name;
  }

  /**
   * Returns the name of a base model on this server. A client may put the model's owner on the hub before the name, as
   * in `Qwen/Qwen3-0.6B`.
   */
  baseOf(baseName: string): string {
    const { bases } = this.#dependencies;
    const last = baseName.slice(baseName.lastIndexOf("/") + 1);
    return !bases.includes(baseName) && bases.includes(last) ? last : baseName;
  }
}
