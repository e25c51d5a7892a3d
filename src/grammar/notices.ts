// What whoever asks should know of a constraint that is served: which formats in it nobody knows here, so that they say
// nothing. What is refused is no notice.
import { cut } from "../domain/service-error.ts";

/** Of a schema with more unknown formats than this the rest is only counted: notices travel in a header. */
const namedMax = 8;
/** Longer names, and places, are cut. */
const [nameLengthMax, placeLengthMax] = [40, 120];

export class Notices {
  /** Where each format stands first. */
  readonly #unknownFormats = new Map<string, string>();

  addUnknownFormat(format: string, place: string): void {
    if (!this.#unknownFormats.has(format)) this.#unknownFormats.set(format, place);
  }

  /** One sentence for each. */
  get sentences(): readonly string[] {
    const named = [...this.#unknownFormats].slice(0, namedMax).map(([format, place]) => {
      const what = JSON.stringify(cut(format, nameLengthMax));
      return `The format ${what} at ${cut(place, placeLengthMax)} is not known here and asks for nothing`;
    });
    const leftCount = this.#unknownFormats.size - named.length;
    return leftCount === 0 ? named : [...named, `${leftCount} more formats are not known here`];
  }
}
