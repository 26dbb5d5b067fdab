//! A new migration must rebuild `sqlx::migrate!`.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
