//! openstack
