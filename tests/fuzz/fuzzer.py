"""Coverage-guided fuzzing of one target: NAME SECONDS FOLDER. Ends with 0 when nothing was found; what broke it is left in the folder."""

import sys
from pathlib import Path


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["idstore"]):
        from fuzz_targets import TARGETS

    name, seconds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    target = TARGETS[name]()
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for number, seed in enumerate(target.seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", "-max_len=20000", "-rss_limit_mb=4096", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
