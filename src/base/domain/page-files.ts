// The built page for browsers, with each file in several encodings.

/** Content encodings; `identity` is uncompressed. */
export const pageEncodings = ["br", "gzip", "identity"] as const;

export type PageEncoding = (typeof pageEncodings)[number];

export interface PageFile {
  readonly contentType: string;
  readonly bytes: Readonly<Record<PageEncoding, Uint8Array>>;
}

export interface PageFiles {
  readonly index: PageFile;
  /** Assets by name. A name contains a hash of the content, so an asset never changes. */
  readonly assets: ReadonlyMap<string, PageFile>;
}
