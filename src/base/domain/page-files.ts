// The page that browsers see, as it was built: its files in every encoding that it may be asked for in.

/** How a file may be encoded on its way; `identity` is as it is. */
export const pageEncodings = ["br", "gzip", "identity"] as const;

export type PageEncoding = (typeof pageEncodings)[number];

export interface PageFile {
  readonly contentType: string;
  readonly bytes: Readonly<Record<PageEncoding, Uint8Array>>;
}

export interface PageFiles {
  readonly index: PageFile;
  /** By their names, each of which says what is in it: a file of one name never changes. */
  readonly assets: ReadonlyMap<string, PageFile>;
}
