<?php
// Makes the site and its administrator where they are missing, and sets the administrator's password where it differs.
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'localhost';
$_SERVER['REQUEST_METHOD'] = 'GET';

// No mail about a new site: a server has no mail program.
function wp_new_blog_notification($title, $url, $user, $password) {}

require '/usr/share/wordpress/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

[$title, $name, $password, $email] = array_map('getenv', ['SITE_TITLE', 'ADMIN_USER', 'ADMIN_PASSWORD', 'ADMIN_EMAIL']);
if (!is_blog_installed()) {
    wp_install($title, $name, $email, true, '', $password);
    echo "changed: made the site\n";
}
wp_upgrade();
$user = get_user_by('login', $name);
if (!$user) {
    $made = wp_insert_user(['user_login' => $name, 'user_pass' => $password, 'user_email' => $email, 'role' => 'administrator']);
    if (is_wp_error($made)) {
        fwrite(STDERR, $made->get_error_message() . "\n");
        exit(1);
    }
    echo "changed: made the administrator\n";
} elseif (!wp_check_password($password, $user->user_pass, $user->ID)) {
    wp_set_password($password, $user->ID);
    echo "changed: set the password\n";
}
