// Files of the two sites that the server has for browsers: the page at `/` and the guide at `/guide`.

/** Content encodings, smallest first; `identity` is uncompressed. */
export const pageEncodings = ["br", "gzip", "identity"] as const;

export type PageEncoding = (typeof pageEncodings)[number];

export interface PageFile {
  readonly contentType: string;
  /** The file's content in each encoding that the build produced. `identity` is always present. */
  readonly bytes: Readonly<Partial<Record<PageEncoding, Uint8Array>>> & { readonly identity: Uint8Array };
}

export interface PageFiles {
  readonly index: PageFile;
  /** Assets by name. A name contains a hash of the content, so browsers may cache an asset forever. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

/** Reads a file of the guide by its path, such as `guides/keys.html`. */
export interface GuideFiles {
  /** False if the guide was not built. */
  isBuilt(): boolean;
  /** Returns null if the guide has no such file. */
  read(path: string): Promise<PageFile | null>;
}
