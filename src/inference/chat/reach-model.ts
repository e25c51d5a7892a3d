// The model that a request names, with its base in memory. Whoever asks keeps both until its request ends.
import type { Caller } from "../../base/domain/access.ts";
import type { AdaptersInUse } from "../models/registry/adapters-in-use.ts";
import type { ModelDirectory, ResolvedModel } from "../models/registry/model-directory.ts";
import type { ServedBase, ServedBases } from "./served-base.ts";

export interface ModelReach {
  readonly directory: Pick<ModelDirectory, "resolve">;
  readonly bases: ServedBases;
  readonly adapters: AdaptersInUse;
}

export interface ReachedModel {
  readonly model: ResolvedModel;
  readonly base: ServedBase;
}

/**
 * Resolves once the base's engine is loaded, which it stays until what `ends` has got is called.
 *
 * @param asked.refuse throws for what the base cannot do, before its engine is loaded for it
 * @param asked.ends gets what lets go of the model, also where this throws
 * @throws ServiceError as {@link ModelDirectory.resolve}, and as `hold` of the base
 */
export async function reachModel(
  reach: ModelReach,
  asked: {
    readonly name: string | null;
    readonly caller: Caller;
    readonly signal: AbortSignal;
    readonly refuse: (base: ServedBase) => void;
    readonly ends: (() => void)[];
  },
): Promise<ReachedModel> {
  const { directory, adapters, bases } = reach;
  const { name, caller, signal, refuse, ends } = asked;
  const model = await directory.resolve(name, caller);
  ends.push(adapters.enter(model.adapter?.id ?? null));
  const { base, release } = await bases.use(model.base);
  ends.push(release);
  refuse(base);
  const { kind } = base.engine.status().state;
  if (base.hold !== undefined) ends.push(await base.hold({ signal }));
  // Which weights it has, and so what may run on them, is known for sure once it is loaded.
  return kind === "unloaded" || kind === "loading" ? reachModel(reach, asked) : { model, base };
}
