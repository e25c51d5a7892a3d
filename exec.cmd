@rem `npm start` begins with the word exec of POSIX shells, so that a signal to npm reaches the server. Windows has no such
@rem word, and finds this file.
@%*
