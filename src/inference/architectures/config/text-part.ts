// Adapters of multimodal models: PEFT names the modules of such a model's text part with the component
// `language_model`, which text models lack. Hone computes only the text part.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readFloats, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";

const component = "language_model.";

/** Returns the name that a module or matrix of a text part has in the text model. */
export function nameInTextModel(name: string): string {
  return name.replace(component, "");
}

/** Returns the name that a module or matrix of the text model has in a multimodal model. */
export function nameInMultimodal(name: string): string {
  return name.replace(/^model\./, `model.${component}`);
}

/**
 * Returns a regular expression for `target_modules` that matches the named modules of the text part. A list of names
 * would also match modules of the parts for images and sound.
 */
export function textPartPattern(moduleNames: readonly string[]): string {
  return `.*\\.language_model\\..*\\.(${moduleNames.join("|")})`;
}

/** True if the names of an adapter's matrices show that it belongs to a multimodal model. */
export function isOfMultimodal(matrices: ReadonlyMap<string, StoredTensor>): boolean {
  return [...matrices.keys()].some((name) => name.includes(component));
}

/**
 * Returns an adapter's matrices by their names in the text model. Leaves out matrices of other parts if they change
 * nothing: PEFT writes them for modules that were adapted but never trained, for lack of images.
 *
 * @throws ServiceError `unsupported` if a module of another part was trained
 */
export function matricesOfTextPart(
  matrices: ReadonlyMap<string, StoredTensor>,
  folder: string,
): ReadonlyMap<string, StoredTensor> {
  if (!isOfMultimodal(matrices)) return matrices;
  for (const [name, matrix] of matrices) {
    if (name.includes(component) || name.endsWith("lora_A.weight")) continue;
    if (readFloats(matrix).every((value) => value === 0)) continue;
    throw new ServiceError({
      code: "unsupported",
      message: `The adapter in ${folder} changes ${name}, but only the language model of a multimodal model is computed. Train only modules of the language model, for example with target_modules=".*language_model.*_proj".`,
    });
  }
  return new Map(
    [...matrices]
      .filter(([name]) => name.includes(component))
      .map(([name, matrix]) => [nameInTextModel(name), matrix]),
  );
}
