// Client for a hub of models: looks up a repository, lists its files and reads bytes of a file. The hub's own library
// builds the URLs, and `requests` handles failures. All reads of a repository use the same commit, even if a branch
// moves meanwhile.
import { fileDownloadInfo, listFiles, modelInfo } from "@huggingface/hub";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { RepositoryFile } from "../choose-files.ts";
import type { RepositoryName } from "../repository-name.ts";
import { checkAccess, type HubAccess } from "./access.ts";
import { Interruption } from "./interruption.ts";
import { HubRequests } from "./requests.ts";

export interface Repository {
  /** Name of the repository, as `owner/name`. */
  readonly name: string;
  /** Commit that the revision referred to when the repository was looked up. */
  readonly commit: string;
  /** Licence that the repository's card names; null if it names none. */
  readonly license: string | null;
  /** Files of the repository. Entries that are neither files nor folders are left out. */
  readonly files: readonly RepositoryFile[];
}

/** Maximum number of files in a repository. A repository with more files does not contain a model. */
const filesMax = 10_000;
/** Maximum number of pages of a list. A hub puts a thousand entries on each page. */
const pagesMax = 1000;

export class Hub {
  readonly #access: HubAccess;
  readonly requests: HubRequests;

  /**
   * Creates a client.
   *
   * @throws ServiceError as `checkAccess`
   */
  constructor(access: HubAccess) {
    checkAccess(access);
    this.#access = access;
    this.requests = new HubRequests(access);
  }

  /**
   * Looks up a repository and its files.
   *
   * @throws ServiceError naming what is missing (such as the repository or revision) and the cure
   */
  async describe({
    repository,
    revision,
  }: Pick<RepositoryName, "repository" | "revision">): Promise<Repository> {
    const what = revision === "main" ? repository : `${repository}@${revision}`;
    const { sha, cardData, tags } = await this.#understood("a model", () =>
      modelInfo({
        ...this.#options(what),
        name: repository,
        revision,
        additionalFields: ["sha", "cardData", "tags"],
      }),
    );
    if (typeof sha !== "string" || !/^[0-9a-f]{7,64}$/.test(sha))
      throw this.#misunderstood("a revision's commit");
    return {
      name: repository,
      commit: sha,
      license: licenseOf(cardData, tags),
      files: await this.#understood("a repository's files", () => this.#list(repository, sha)),
    };
  }

  async #list(repository: string, commit: string): Promise<readonly RepositoryFile[]> {
    const files: RepositoryFile[] = [];
    const repo = { type: "model", name: repository } as const;
    const options = this.#options(repository);
    let pageCount = 0;
    for await (const entry of listFiles({
      ...options,
      // Stops an endless list, in which each page is empty but has a link to a next page.
      fetch: (...asked) => {
        if (++pageCount > pagesMax) throw this.#misunderstood("a repository's files");
        return options.fetch(...asked);
      },
      repo,
      revision: commit,
      recursive: true,
    })) {
      if (entry.type !== "file") continue;
      const { path, oid, lfs } = entry;
      const bytes = lfs?.size ?? entry.size;
      const digest = lfs?.oid ?? oid;
      if (
        typeof path !== "string" ||
        !isSize(bytes) ||
        digest === undefined ||
        !/^[0-9a-f]{40,64}$/.test(digest)
      )
        throw this.#misunderstood("a repository's files");
      files.push({ path, bytes, checksum: { kind: lfs === undefined ? "git-blob" : "sha256", digest } });
      if (files.length > filesMax)
        throw new ServiceError({
          code: "unsupported",
          message: `${repository} has more than ${filesMax} files; a model has a few.`,
        });
    }
    return files;
  }

  /**
   * Opens a file in one attempt, to read it from `offset` on. If the hub does not support range requests, the body
   * starts at the file's beginning instead.
   *
   * @throws Interruption if a retry may help
   */
  async open(
    { name, commit }: Pick<Repository, "name" | "commit">,
    file: RepositoryFile,
    offset: number,
  ): Promise<{ readonly isWhole: boolean; readonly body: AsyncGenerator<Uint8Array, void> }> {
    const { endpoint, token } = this.#access;
    const url = await this.#addressOf(name, commit, file);
    const isOwn = new URL(url).origin === new URL(endpoint).origin;
    const headers = {
      ...(offset > 0 && { range: `bytes=${offset}-` }),
      // The token is sent only to the hub itself. After a redirect to another server, `fetch` omits it.
      ...(token !== null && isOwn && { authorization: `Bearer ${token}` }),
    };
    const { header, body, release } = await this.requests.ask(name, url, { headers });
    const range = header("content-range");
    if (range === null || range.startsWith(`bytes ${offset}-`)) return { isWhole: range === null, body };
    release();
    throw this.#misunderstood(`the part of ${file.path} that it sends`);
  }

  async #addressOf(name: string, commit: string, { path, bytes }: RepositoryFile): Promise<string> {
    const repo = { type: "model", name } as const;
    const info = await this.#understood("a file's address", () =>
      fileDownloadInfo({ ...this.#options(name), repo, path, revision: commit }),
    );
    if (info === null || info.size !== bytes) {
      throw new ServiceError({
        code: "unavailable",
        message: `${this.#access.endpoint} lists ${path} of ${name} with ${bytes} bytes, but its address has ${info === null ? "no such file" : info.size}. Try again later, or use another mirror.`,
      });
    }
    return info.url;
  }

  #options(what: string) {
    const { endpoint, token } = this.#access;
    return {
      hubUrl: endpoint,
      fetch: this.requests.fetchWhole(what),
      ...(token !== null && { accessToken: token }),
    };
  }

  /**
   * Runs a call of the hub's library, and reports responses that the library cannot parse. The library assumes that a
   * hub responded, but the response may come from a network's login page.
   */
  async #understood<Result>(what: string, ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ServiceError || error instanceof Interruption) throw error;
      throw this.#misunderstood(what, error);
    }
  }

  #misunderstood(what: string, cause?: unknown): ServiceError {
    return new ServiceError({
      cause,
      code: "unavailable",
      message: `${this.#access.endpoint} does not describe ${what} as the Hugging Face hub does. Is a proxy in between, or does HF_ENDPOINT name another server?`,
    });
  }
}

/**
 * Returns the licence's name. The card comes first, because it may name a licence for which the hub has no identifier.
 */
function licenseOf(card: unknown, tags: unknown): string | null {
  const { license, license_name: name } = (card ?? {}) as {
    readonly license?: unknown;
    readonly license_name?: unknown;
  };
  const named = license === "other" && typeof name === "string" ? name : license;
  if (typeof named === "string") return named.slice(0, 100);
  const tag = Array.isArray(tags) ? tags.find((one) => String(one).startsWith("license:")) : undefined;
  return tag === undefined ? null : String(tag).slice("license:".length, 108);
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
