// Notices about a constraint that Hone serves: keywords without effect, unknown formats, and keywords next to a `$ref`
// if the schema's draft ignores them. Reasons for refusing a constraint are not notices.
import { cut } from "../../../base/domain/service-error.ts";

/** Maximum number of notices of each kind, because notices are sent in a header. Further ones are only counted. */
const namedMax = 8;
/** Maximum length of quoted names and of quoted locations; longer ones are truncated. */
const [nameLengthMax, placeLengthMax] = [40, 120];

export class Notices {
  /** First location of each unknown format. */
  readonly #unknownFormats = new Map<string, string>();
  readonly #besideReferences: { readonly keyword: string; readonly place: string }[] = [];

  addUnknownFormat(format: string, place: string): void {
    if (!this.#unknownFormats.has(format)) this.#unknownFormats.set(format, place);
  }

  addKeywordBesideReference(keyword: string, place: string): void {
    this.#besideReferences.push({ keyword, place });
  }

  /** All notices, one sentence each. */
  get sentences(): readonly string[] {
    return [...this.#ofFormats, ...this.#ofKeywords];
  }

  get #ofKeywords(): readonly string[] {
    const named = this.#besideReferences.slice(0, namedMax).map(({ keyword, place }) => {
      const where = cut(place, placeLengthMax);
      return `The keyword ${keyword} at ${where} is ignored next to $ref in the schema's draft`;
    });
    const leftCount = this.#besideReferences.length - named.length;
    return leftCount === 0 ? named : [...named, `${leftCount} more keywords are ignored next to $ref`];
  }

  get #ofFormats(): readonly string[] {
    const named = [...this.#unknownFormats].slice(0, namedMax).map(([format, place]) => {
      const what = JSON.stringify(cut(format, nameLengthMax));
      return `The format ${what} at ${cut(place, placeLengthMax)} is unknown and has no effect`;
    });
    const leftCount = this.#unknownFormats.size - named.length;
    return leftCount === 0 ? named : [...named, `${leftCount} more formats are unknown`];
  }
}
