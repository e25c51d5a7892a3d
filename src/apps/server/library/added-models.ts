// Lists the models that `hone models add` stored in a data folder. Imports little code, because each start of a server
// uses it.
import { join } from "node:path";
import { modelsFolder } from "../../../store/artifacts/server-folder.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { describeSource } from "../../../inference/models/library/added-model.ts";
import { ModelLibrary, type TakeLock } from "../../../inference/models/library/model-library.ts";
import type { AddedBase } from "../../../inference/models/registry/base-models.ts";

/** Returns the library of a data folder. */
export function libraryOf(dataFolder: string, takeLock: TakeLock): ModelLibrary {
  return new ModelLibrary({ folder: join(dataFolder, modelsFolder), takeLock, clock: systemClock });
}

/** Returns the completely added models of a data folder with their names. */
export function addedBases(dataFolder: string): readonly AddedBase[] {
  const library = libraryOf(dataFolder, () => ({ release: () => undefined }));
  return library.list().map((model) => ({
    name: model.name,
    path: library.pathOf(model),
    source: describeSource(model.source),
    license: model.license,
    hasWeights: model.source.withoutWeights !== true,
  }));
}
